"""Documents, chunks and their vectors as rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from memory.documents import Chunk, Document
from memory.errors import StorageError
from memory.events import IncomingKind, JournalState
from storage import Database
from tests.unit.storage import build
from tests.unit.storage.test_query_plans import scans, traced

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def document(event_id: str = "$file", room_id: str = build.ROOM, title: str = "Handbook") -> Document:
    return Document(0, room_id, title, "text/plain", 12, event_id, build.ALICE, AT, 0)


def vector(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(numbers, dtype=np.float32)


async def test_a_document_is_read_back_with_its_chunks_in_order(database: Database) -> None:
    async with database.transaction() as tables:
        assert await tables.documents.for_whom(build.ROOM) == frozenset()
        first = await tables.documents.add(document(), ["one", "two \ud800"])
        other = await tables.documents.add(document(room_id=build.OTHER_ROOM), ["else"])
        assert await tables.documents.for_whom(build.ROOM) == {None}
        assert await tables.documents.rooms() == tuple(sorted((build.ROOM, build.OTHER_ROOM)))
        assert await tables.documents.of_room(build.ROOM) == (
            Document(first, build.ROOM, "Handbook", "text/plain", 12, "$file", build.ALICE, AT, 2),
        )
        assert [each.id for each in await tables.documents.of_event(build.OTHER_ROOM, "$file")] == [other]
        assert await tables.documents.of_event(build.ROOM, "$another") == ()
        ids = await tables.documents.chunk_ids(first)
        assert await tables.documents.texts(first) == ("one", "two \ufffd")
        assert await tables.documents.chunks([ids[1], 99, ids[0]]) == (
            Chunk(ids[1], first, "Handbook", 2, 2, "two \ufffd"),
            Chunk(ids[0], first, "Handbook", 1, 2, "one"),
        )


async def test_the_file_of_an_event_is_one_document_of_its_room(database: Database) -> None:
    async with database.transaction() as tables:
        await tables.documents.add(document(), ["one"])
    with pytest.raises(StorageError, match="UNIQUE"):
        async with database.transaction() as tables:
            await tables.documents.add(document(), ["again"])


async def test_d8_beside_the_one_for_everybody_each_person_may_have_one_of_their_own(database: Database) -> None:
    async with database.transaction() as tables:
        everybodys = await tables.documents.add(document(), ["one"])
        mine = await tables.documents.add(replace(document(), private_to=build.ALICE), ["one"])
        await tables.documents.add(replace(document(room_id=build.OTHER_ROOM), private_to=build.BAU), ["one"])
        assert await tables.documents.for_whom(build.ROOM) == {None, build.ALICE}
        assert await tables.documents.for_whom(build.OTHER_ROOM) == {build.BAU}
        found = await tables.documents.of_event(build.ROOM, "$file")
        assert [(each.id, each.private_to) for each in found] == [(everybodys, None), (mine, build.ALICE)]
        chunks = await tables.documents.chunks(await tables.documents.chunk_ids(mine))
        assert [(each.document_id, each.private_to) for each in chunks] == [(mine, build.ALICE)]
    with pytest.raises(StorageError, match="UNIQUE"):
        async with database.transaction() as tables:
            await tables.documents.add(replace(document(), private_to=build.ALICE), ["again"])


async def test_deleting_takes_chunks_and_vectors_along_and_ids_are_not_used_again(database: Database) -> None:
    async with database.transaction() as tables:
        first = await tables.documents.add(document(), ["one", "two"])
        kept = await tables.documents.add(document("$kept"), ["three"])
        for owner in (first, kept):
            ids = await tables.documents.chunk_ids(owner)
            await tables.documents.put_vectors("model", [(chunk_id, vector(1, 0)) for chunk_id in ids])
        await tables.documents.delete([first, 77])
        rows = await tables.documents._sql.rows("SELECT chunk_id FROM chunk_embeddings")
        assert rows == [(chunk_id,) for chunk_id in await tables.documents.chunk_ids(kept)]
        assert await tables.documents.chunk_ids(first) == ()
        again = await tables.documents.add(document(), ["four"])
        assert again > kept
        assert min(await tables.documents.chunk_ids(again)) > 3


async def test_d17_vectors_of_another_model_or_length_count_as_lacking_and_go_with_the_first_new_one(
    database: Database,
) -> None:
    async with database.transaction() as tables:
        added = await tables.documents.add(document(), ["one", "two", "three", "four"])
        elsewhere = await tables.documents.add(document(room_id=build.OTHER_ROOM), ["else"])
        one, two, three, four = await tables.documents.chunk_ids(added)
        await tables.documents.put_vectors("old", [(one, vector(1, 0)), (two, vector(1, 0))])
        await tables.documents.put_vectors("new", [(two, vector(0, 1)), (three, vector(1, 0, 0)), (999, vector(1, 0))])
        ids, vectors = await tables.documents.vectors(added, "new", 2)
        assert ids == (two,)
        assert vectors.tolist() == [[0.0, 1.0]]
        lacking = await tables.documents.lacking(build.ROOM, "new", 2, 10)
        assert [chunk.id for chunk in lacking] == [one, three, four]
        assert [chunk.id for chunk in await tables.documents.lacking(build.ROOM, "new", 2, 1, one)] == [three]
        assert [chunk.id for chunk in await tables.documents.lacking(build.ROOM, "new", None, 10)] == [one, four]
        assert (await tables.documents.vectors(elsewhere, "new", 2))[0] == ()
        assert [chunk.document_id for chunk in await tables.documents.lacking(build.OTHER_ROOM, "new", 2, 9)] == [
            elsewhere
        ]
        rows = await tables.documents._sql.rows("SELECT chunk_id, model_id FROM chunk_embeddings ORDER BY 1, 2")
        assert rows == [(one, "old"), (two, "new"), (three, "new")]


async def test_a_redaction_is_known_from_the_journal_however_it_was_dealt_with(database: Database) -> None:
    command = build.incoming()
    before = build.incoming(kind=IncomingKind.REDACTION, target="$file", room_id=command.room_id)
    after = build.incoming(kind=IncomingKind.REDACTION, target="$file", room_id=command.room_id)
    async with database.transaction() as tables:
        await tables.journal.record(build.batch(before), [before], [], AT)
        await tables.journal.record(build.batch(command), [command], [], AT)
        assert not await tables.journal.redacted(command.room_id, "$file", command.event_id)
        await tables.journal.record(build.batch(after), [after], [], AT)
        await tables.journal.finish(after.event_id, JournalState.IGNORED)
        assert await tables.journal.redacted(command.room_id, "$file", command.event_id)
        assert not await tables.journal.redacted(command.room_id, "$another", command.event_id)
        assert not await tables.journal.redacted(build.OTHER_ROOM, "$file", command.event_id)


async def test_no_statement_about_documents_looks_through_a_table(database: Database) -> None:
    async with traced(database) as statements, database.transaction() as tables:
        added = await tables.documents.add(document(), ["one"])
        await tables.documents.for_whom(build.ROOM)
        await tables.documents.of_room(build.ROOM)
        await tables.documents.of_event(build.ROOM, "$file")
        ids = await tables.documents.chunk_ids(added)
        await tables.documents.texts(added)
        await tables.documents.put_vectors("model", [(ids[0], vector(1, 0))])
        await tables.documents.vectors(added, "model", 2)
        await tables.documents.lacking(build.ROOM, "model", 2, 10)
        await tables.documents.chunks(ids)
        await tables.documents.delete([added])
        await tables.journal.redacted(build.ROOM, "$file", "$command")
    assert await scans(database, statements) == []
