"""Pictures and documents: what is in files, read and made in processes with little memory, time and no files."""
