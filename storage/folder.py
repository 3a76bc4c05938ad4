"""The data folder: readable by its owner only, used by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from memory.errors import StorageError

DATABASE = "davenport.db"
LOCK = "davenport.lock"


class DataFolder:
    """The locked data folder; holds the lock until `release`."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.database = path / DATABASE
        self._lock: int | None = lock

    @classmethod
    def take(cls, path: Path) -> DataFolder:
        """Create the folder (0700) and an empty database file (0600) where missing, and lock it.

        Modes of what is there already are put right, whatever the umask. Raises StorageError when another process
        holds the lock or the file system refuses.
        """
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.chmod(0o700)
            folder = cls(path, _lock(path))
        except OSError as error:
            raise _cannot_use(path, error) from error
        try:
            _owner_only(folder.database)
        except OSError as error:
            folder.release()
            raise _cannot_use(path, error) from error
        return folder

    def release(self) -> None:
        """Let another process use the folder. Safe to call twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _cannot_use(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"the data folder {path} cannot be used ({error.strerror}: {error.filename or path}); make it a folder that "
        "belongs to the bot's account, or set another data_dir"
    )


def _lock(folder: Path) -> int:
    """Take the lock and return its file descriptor, which must stay open (flock ends with it, even by SIGKILL)."""
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(lock, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(lock, 0)
        os.write(lock, f"{os.getpid()}\n".encode())
    except BlockingIOError as error:
        holder = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
        os.close(lock)
        raise StorageError(
            f"the data folder {folder} is in use by another davenport process (pid {holder}); stop that one, or give "
            "this one its own data_dir"
        ) from error
    except BaseException:
        os.close(lock)
        raise
    return lock


def _owner_only(database: Path) -> None:
    """Make the database file 0600 before SQLite opens it: SQLite gives -wal and -shm the same mode."""
    file = os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(file, 0o600)
    finally:
        os.close(file)
    for suffix in ("-wal", "-shm"):
        beside = database.with_name(database.name + suffix)
        if beside.exists():
            beside.chmod(0o600)
