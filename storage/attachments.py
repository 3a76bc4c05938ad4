"""Files on their way out, each beside the outbox row that sends it; a row deleted takes its file along."""

from __future__ import annotations

from storage.sql import Sql


class AttachmentRows:
    """Rows of `attachments`."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, txn_id: str, data: bytes) -> None:
        """Store the file of a row that was just added."""
        await self._sql.run("INSERT INTO attachments (txn_id, data) VALUES (?, ?)", txn_id, data)

    async def of(self, txn_id: str) -> bytes | None:
        """Return the file that a row has to upload, None when there is none (any more)."""
        row = await self._sql.row("SELECT data FROM attachments WHERE txn_id = ?", txn_id)
        return None if row is None else bytes(row[0])

    async def drop(self, txn_id: str) -> None:
        """Delete the file of a row."""
        await self._sql.run("DELETE FROM attachments WHERE txn_id = ?", txn_id)

    async def drop_of(self, event_id: str) -> None:
        """Delete the files of an answer."""
        await self._sql.run(
            "DELETE FROM attachments WHERE txn_id IN (SELECT txn_id FROM outbox WHERE event_id = ?)", event_id
        )
