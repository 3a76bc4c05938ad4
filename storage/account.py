"""The bot's own account: ids, tokens and cross-signing state, as key and value."""

from __future__ import annotations

from storage.sql import Sql


class AccountRows:
    """Rows of `account`. The values are secrets: they are never logged."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def get(self, key: str) -> str | None:
        """Return the value of a key, or None."""
        row = await self._sql.row("SELECT value FROM account WHERE key = ?", key)
        return None if row is None else str(row[0])

    async def set(self, key: str, value: str | None) -> None:
        """Store a value; None removes the key."""
        if value is None:
            await self._sql.run("DELETE FROM account WHERE key = ?", key)
            return
        await self._sql.run(
            "INSERT INTO account (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            key,
            value,
        )

    async def all(self) -> dict[str, str]:
        """Return every key with its value."""
        return dict(await self._sql.rows("SELECT key, value FROM account ORDER BY key"))
