"""SQLite: the only package that speaks SQL."""
