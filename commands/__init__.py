"""Commands people type, from one table that feeds parsing, permission and help."""
