"""Whose events are read: of users that are ignored what they say is not, but what they delete is deleted."""

from __future__ import annotations

from typing import Any, cast

import pytest
from nio.rooms import MatrixRoom

from matrix.client import Client
from matrix.reader import Read, Reader
from memory.events import IncomingKind

BOT, GHOST, ROOM = "@bot:hs", "@irc_mo:hs", "!room:hs"


class OneRoom:
    """As much of a Client as reading a room takes."""

    user_id = BOT
    made: frozenset[str] = frozenset()

    async def room_with_members(self, room_id: str) -> MatrixRoom:
        return MatrixRoom(room_id, BOT)


async def read(*raws: dict[str, Any]) -> Read:
    reader = Reader(cast(Client, OneRoom()), lambda room_id: False, ["@irc_*:hs"])
    into = Read()
    await reader.read(ROOM, raws, into)
    return into


def raw(sender: str, event_type: str = "m.room.message", **more: Any) -> dict[str, Any]:
    content = {"msgtype": "m.text", "body": "hello"} if event_type == "m.room.message" else {}
    return {
        "type": event_type,
        "event_id": "$one",
        "sender": sender,
        "origin_server_ts": 1_700_000_000_000,
        "content": content,
        **more,
    }


@pytest.mark.parametrize("sender", [GHOST, BOT])
async def test_what_the_bot_itself_or_an_ignored_user_says_is_not_read(sender: str) -> None:
    assert await read(raw(sender)) == Read()


async def test_an_edit_of_what_can_be_no_event_is_passed_over_and_the_rest_is_read() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$\ud800"}
    words = {"msgtype": "m.text", "body": "x"}
    edit = raw("@juno:hs", content={**words, "m.new_content": words, "m.relates_to": relation})
    assert [found.body for found in (await read(edit, raw("@juno:hs"))).events] == ["hello"]


@pytest.mark.parametrize("sender", [GHOST, BOT, "@juno:hs"])
async def test_what_anybody_deletes_is_deleted(sender: str) -> None:
    """A bot that moderates is ignored often enough, and people may delete something as the bot."""
    [found] = (await read(raw(sender, "m.room.redaction", redacts="$file"))).events
    assert (found.kind, found.target, found.sender) == (IncomingKind.REDACTION, "$file", sender)
