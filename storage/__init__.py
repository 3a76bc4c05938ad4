"""SQLite: the only package that speaks SQL."""

from storage.database import Database

__all__ = ["Database"]
