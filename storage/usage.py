"""Tokens spent."""

from __future__ import annotations

from datetime import datetime

from memory.model import Usage
from storage.codec import time_text
from storage.sql import Sql

_ADD = """
INSERT INTO usage (event_id, user_id, room_id, purpose, model,
                   input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class UsageRows:
    """Rows of `usage`, one for each model call."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql

    async def add(self, event_id: str, user_id: str, room_id: str, purpose: str, usage: Usage, at: datetime) -> None:
        """Record one model call; `purpose` is "reply" or "extraction"."""
        await self._sql.run(
            _ADD,
            event_id,
            user_id,
            room_id,
            purpose,
            usage.model,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            time_text(at),
        )
