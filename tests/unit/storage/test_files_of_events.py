"""What the database knows of pictures and other files: which event held what, and which of the bot's own is one."""

from __future__ import annotations

import json

import pytest

from memory.events import JournalState
from memory.media import MediaKind
from storage import Database
from tests.unit.storage import build


@pytest.mark.parametrize("kind", [None, *MediaKind])
@pytest.mark.parametrize("heard", [True, False], ids=["for the bot", "overheard"])
async def test_what_an_event_held_is_kept_without_its_words_until_it_is_redacted(
    database: Database, kind: MediaKind | None, heard: bool
) -> None:
    event = build.incoming(media=kind)
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(event), [event] * heard, [event] * (not heard), build.NOW)
        entry = await tables.journal.get(event.event_id)
        assert entry is not None
        assert entry.incoming.media is kind
        assert bool(entry.incoming.body) is heard
        await tables.journal.retract(event.event_id)
        edited = await tables.journal.get(event.event_id)
        await tables.journal.lose_media(event.event_id)
        redacted = await tables.journal.get(event.event_id)
    assert edited is not None
    assert redacted is not None
    assert (edited.incoming.media, edited.state) == (kind, JournalState.IGNORED)
    assert redacted.incoming.media is None


async def test_which_of_the_bots_own_events_is_a_picture(database: Database) -> None:
    picture = build.outbox_row(event_id="$asked", content=json.dumps({"msgtype": "m.image", "body": "cat.png"}))
    words = build.outbox_row(event_id="$asked", content=json.dumps({"msgtype": "m.text", "body": "m.image"}))
    async with database.transaction() as tables:
        await tables.outbox.add([picture, words])
        await tables.outbox.sent(picture.txn_id, "$picture")
        await tables.outbox.sent(words.txn_id, "$words")
        assert await tables.outbox.picture("$picture", picture.room_id) == ("$asked", True)
        assert await tables.outbox.picture("$words", words.room_id) == ("$asked", False)
        assert await tables.outbox.picture("$picture", build.OTHER_ROOM) is None
        assert await tables.outbox.picture("$unknown", picture.room_id) is None
        await tables.outbox.retract("$asked")
        assert await tables.outbox.picture("$picture", picture.room_id) == ("$asked", False), "redacted"
