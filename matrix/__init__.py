"""The Matrix side: the only package that imports nio."""
