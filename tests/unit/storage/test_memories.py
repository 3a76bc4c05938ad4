from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.decay import changed
from memory.errors import StorageError
from memory.types import Draft, ListKey, Memory, ScopeKind, Settlement, Source
from storage import Database
from tests.unit.storage import build
from tests.unit.storage.conftest import STORAGE

NOW, TODAY = build.NOW, build.NOW.date()


async def save(database: Database, *drafts: Draft, now: datetime = NOW) -> list[Memory]:
    async with database.transaction() as tables:
        return [await tables.memories.insert(draft, now) for draft in drafts]


async def all_of(database: Database, *ids: int) -> dict[int, Memory]:
    async with database.transaction() as tables:
        return {memory.id: memory for memory in await tables.memories.get(ids)}


@STORAGE
@given(draft=build.drafts(), now=build.moments)
async def test_a_draft_comes_back_as_it_was_saved_with_zero_days_and_today(
    database: Database, draft: Draft, now: datetime
) -> None:
    """D1: 0 days, and the day it is saved counts as used."""
    (memory,) = await save(database, draft, now=now)
    assert memory == Memory(
        id=memory.id,
        scope=draft.scope,
        scope_id=draft.scope_id,
        persona=draft.persona,
        text=draft.text,
        source=draft.source,
        protected=draft.protected,
        unused_days=0,
        counted_on=now.date(),
        last_matched_at=None,
        mentions=draft.mentions,
        first_seen=draft.first_seen,
        created_at=now,
        updated_at=now,
        origin=draft.origin,
        shared=draft.shared,
        rooms=draft.rooms,
        tags=draft.tags,
    )
    assert await all_of(database, memory.id) == {memory.id: memory}


async def test_today_is_the_utc_date_whatever_zone_the_moment_has(database: Database) -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=timezone(timedelta(hours=-3)))
    (memory,) = await save(database, build.draft(), now=late)
    assert memory.counted_on == date(2026, 3, 2)
    assert memory.created_at == late
    assert memory.created_at.utcoffset() == timedelta(0)


async def test_a_time_without_a_zone_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="without a zone"):
        await save(database, build.draft(), now=datetime(2026, 3, 1))


async def test_lone_surrogates_are_replaced_since_the_file_is_utf8(database: Database) -> None:
    (memory,) = await save(database, build.draft("a \ud83d cat \U0001f408"))
    assert memory.text == "a \ufffd cat \U0001f408"


async def test_a_list_is_one_scope_and_persona_with_the_users_global_memories(database: Database) -> None:
    """RULES, Words: a personal list has that user's global memories, a room's list has none."""
    pirate = replace(build.ALICE_LIST, persona="pirate")
    mine, as_pirate, everywhere, of_room, of_bau, of_bau_everywhere = await save(
        database,
        build.draft("mine"),
        build.draft("as pirate", pirate),
        build.global_draft(),
        build.draft("room", build.ROOM_LIST),
        build.draft("bau", replace(build.ALICE_LIST, owner=build.BAU)),
        build.global_draft(build.BAU),
    )
    async with database.transaction() as tables:
        memories = tables.memories
        assert await memories.of_list(build.ALICE_LIST) == (mine, everywhere)
        assert await memories.of_list(pirate) == (as_pirate, everywhere)
        assert await memories.of_list(build.ROOM_LIST) == (of_room,)
        assert await memories.of_user(build.ALICE) == (mine, as_pirate, everywhere)
        assert await memories.of_user(build.BAU) == (of_bau, of_bau_everywhere)
        assert await memories.count_of_user(build.ALICE) == 3
        assert await memories.count_of_list(build.ALICE_LIST) == 1
        assert await memories.count_of_list(build.ROOM_LIST) == 1
        assert await memories.count_of_list(replace(build.ROOM_LIST, owner="!empty:example.org")) == 0


async def test_only_a_global_memory_is_without_a_persona(database: Database) -> None:
    for bad in (replace(build.draft(), persona=""), replace(build.global_draft(), persona="default")):
        with pytest.raises(StorageError, match="CHECK"):
            await save(database, bad)


async def test_editing_protects_drops_the_vectors_and_leaves_the_counters(database: Database) -> None:
    """D11: text and protection, even if the text stays the same."""
    (memory,) = await save(database, build.draft())
    later = NOW + build.DAY
    async with database.transaction() as tables:
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.ones(2, dtype=np.float32))])
        await tables.memories.settle(Settlement(later, later.date(), aged=(memory.id,)))
        edited = await tables.memories.edit(memory.id, memory.text, later)
        assert edited == replace(
            memory, protected=True, updated_at=later, unused_days=1, counted_on=later.date(), text=memory.text
        )
        assert await tables.memories.get([memory.id]) == (edited,)
        assert (await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2))[0] == ()
        assert await tables.memories.without_vector("model", 0, 10) == ((edited,), edited.id)


async def test_d11_protecting_leaves_text_vectors_and_counters(database: Database) -> None:
    (memory,) = await save(database, build.draft())
    async with database.transaction() as tables:
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.ones(2, dtype=np.float32))])
        protected = await tables.memories.protect(memory.id)
        assert protected == replace(memory, protected=True)
        assert await tables.memories.get([memory.id]) == (protected,)
        assert (await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2))[0] == (memory.id,)


async def test_protecting_what_does_not_exist_is_an_error(database: Database) -> None:
    with pytest.raises(StorageError, match="memory 77 does not exist"):
        async with database.transaction() as tables:
            await tables.memories.protect(77)


async def test_editing_what_does_not_exist_is_an_error(database: Database) -> None:
    with pytest.raises(StorageError, match="memory 77 does not exist"):
        async with database.transaction() as tables:
            await tables.memories.edit(77, "text", NOW)


async def test_a_deleted_memory_takes_vectors_and_mentions_along_and_its_id_never_returns(database: Database) -> None:
    first, last = await save(database, build.draft("first"), build.draft("last"))
    async with database.transaction() as tables:
        candidate = await tables.candidates.insert(build.ALICE, "last", build.draft().origin, NOW)
        await tables.candidates.promoted(candidate.id, last.id)
        await tables.memories.put_vectors("model", [(last.id, last.text, np.ones(2, dtype=np.float32))])
        await tables.memories.delete([last.id, 12345])
        assert await tables.memories.of_list(build.ALICE_LIST) == (first,)
        assert await tables.candidates.take_back("$origin") == ((), ())
        assert (await tables.memories.insert(build.draft("next"), NOW)).id > last.id
        again = await tables.candidates.insert(build.ALICE, "next", build.draft().origin, NOW)
        assert again.id > candidate.id


# --- settling -----------------------------------------------------------------------------------------------------


@STORAGE
@given(
    states=st.lists(st.tuples(st.integers(0, 30), st.integers(-40, 40)), min_size=1, max_size=8),
    groups=st.lists(st.sampled_from(["used", "aged", "healed", "none"]), min_size=8, max_size=8),
)
async def test_settling_changes_rows_exactly_as_the_rules_say(
    database: Database, states: list[tuple[int, int]], groups: list[str]
) -> None:
    """D3, D4, D16: the same settlement means the same in memory/decay.py and in the database."""
    saved = []
    async with database.transaction() as tables:
        for unused, offset in states:
            memory = await tables.memories.insert(build.draft(), NOW)
            await tables.memories._sql.run(
                "UPDATE memories SET unused_days = ?, counted_on = ? WHERE id = ?",
                unused,
                (TODAY + timedelta(days=offset)).isoformat(),
                memory.id,
            )
            saved.append(memory.id)
    before = await all_of(database, *saved)
    ids: dict[str, list[int]] = {"used": [], "aged": [], "healed": [], "none": []}
    for memory, group in zip(before.values(), groups, strict=False):
        ahead = memory.counted_on > TODAY + timedelta(days=7)
        ids[group if group != "healed" or ahead else "none"].append(memory.id)
    settlement = Settlement(NOW, TODAY, tuple(ids["used"]), tuple(ids["aged"]), tuple(ids["healed"]))
    async with database.transaction() as tables:
        await tables.memories.settle(settlement)
    assert await all_of(database, *saved) == before | changed(before, settlement)


async def test_two_turns_that_overlap_count_one_day(database: Database) -> None:
    """D4: both read the memory before either settled; the second adds nothing."""
    (memory,) = await save(database, build.draft())
    later = NOW + build.DAY
    settlement = Settlement(later, later.date(), aged=(memory.id,))
    for _ in range(2):
        async with database.transaction() as tables:
            await tables.memories.settle(settlement)
    assert (await all_of(database, memory.id))[memory.id].unused_days == 1


@pytest.mark.parametrize("match_first", [True, False])
async def test_a_match_and_a_day_that_overlap_end_the_same_in_either_order(
    database: Database, match_first: bool
) -> None:
    """D3, D4: matched today, it gains nothing more today."""
    (memory,) = await save(database, build.draft())
    later = NOW + build.DAY
    turns = [Settlement(later, later.date(), used=(memory.id,)), Settlement(later, later.date(), aged=(memory.id,))]
    for settlement in turns if match_first else reversed(turns):
        async with database.transaction() as tables:
            await tables.memories.settle(settlement)
    settled = (await all_of(database, memory.id))[memory.id]
    assert (settled.unused_days, settled.counted_on, settled.last_matched_at) == (0, later.date(), later)


async def test_settling_ignores_memories_that_are_gone(database: Database) -> None:
    (memory,) = await save(database, build.draft())
    async with database.transaction() as tables:
        await tables.memories.delete([memory.id])
        await tables.memories.settle(
            Settlement(NOW, TODAY, used=(memory.id,), aged=(memory.id + 1,), healed=(memory.id + 2,))
        )
        assert await tables.memories.of_user(build.ALICE) == ()


# --- vectors ------------------------------------------------------------------------------------------------------


@STORAGE
@given(values=st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=16))
async def test_a_vector_comes_back_bit_for_bit(database: Database, values: list[float]) -> None:
    vector = np.array(values, dtype=np.float32)
    key = replace(build.ALICE_LIST, owner=build.fresh("@user"))
    (memory,) = await save(database, build.draft(key=key))
    async with database.transaction() as tables:
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.zeros(len(values), dtype=np.float32))])
        await tables.memories.put_vectors("model", [(memory.id, memory.text, vector)])
        ids, vectors = await tables.memories.vectors_of_list(key, "model", len(values))
        (stored,) = await tables.memories._sql.rows("SELECT vector FROM embeddings WHERE memory_id = ?", memory.id)
    assert ids == (memory.id,)
    assert vectors.dtype == np.float32
    assert vectors.shape == (1, len(values))
    assert vectors.tobytes() == vector.tobytes()
    assert stored[0] == vector.astype("<f4").tobytes()


async def test_vectors_of_a_list_are_by_id_and_of_one_model(database: Database) -> None:
    first, other, third, bare = await save(
        database, build.draft("1"), build.draft("2", build.ROOM_LIST), build.global_draft(), build.draft("4")
    )
    async with database.transaction() as tables:
        for memory in (third, other, first):
            await tables.memories.put_vectors(
                "model", [(memory.id, memory.text, np.full(2, memory.id, dtype=np.float32))]
            )
        await tables.memories.put_vectors("other model", [(bare.id, bare.text, np.zeros(2, dtype=np.float32))])
        ids, vectors = await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 2)
        assert ids == (first.id, third.id)
        assert vectors.tolist() == [[first.id] * 2, [third.id] * 2]
        vectors[0, 0] = 7  # the caller's own, not a view of anything
        ids, vectors = await tables.memories.vectors_of_list(build.ALICE_LIST, "model", 3)
        assert ids == ()
        assert vectors.shape == (0, 3)


async def test_a_vector_that_comes_after_its_memory_was_deleted_is_dropped(database: Database) -> None:
    (memory,) = await save(database, build.draft())
    async with database.transaction() as tables:
        await tables.memories.delete([memory.id])
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.ones(2, dtype=np.float32))])
        assert await tables.memories._sql.rows("SELECT * FROM embeddings") == []


async def test_d17_a_vector_of_a_text_that_was_edited_meanwhile_is_dropped(database: Database) -> None:
    (memory,) = await save(database, build.draft("Has a cat"))
    async with database.transaction() as tables:
        await tables.memories.edit(memory.id, "Has a dog", NOW)
        await tables.memories.put_vectors("model", [(memory.id, "Has a cat", np.ones(2, dtype=np.float32))])
        assert await tables.memories._sql.rows("SELECT * FROM embeddings") == []


async def test_d17_memories_without_a_vector_are_found_span_by_span(database: Database) -> None:
    saved = await save(database, *(build.draft(str(number)) for number in range(7)))
    async with database.transaction() as tables:
        done = [(memory.id, memory.text, np.ones(2, dtype=np.float32)) for memory in saved if memory.text in "0245"]
        await tables.memories.put_vectors("model", done)
        await tables.memories.put_vectors("other", [(saved[1].id, "1", np.ones(2, dtype=np.float32))])
        await tables.memories.delete([saved[3].id])
        found, after = [], 0
        for _ in range(2):
            page, end = await tables.memories.without_vector("model", after, 3)
            assert end is not None
            found.append([memory.text for memory in page])
            after = end
        assert found == [["1"], ["6"]]
        assert await tables.memories.without_vector("model", after, 3) == ((), None)


async def test_d17_the_first_vector_of_a_model_takes_those_of_others_along(database: Database) -> None:
    saved = await save(database, build.draft("one"), build.draft("two"), build.draft("three"))

    async def left() -> list[tuple[object, ...]]:
        return await tables.memories._sql.rows(
            "SELECT memory_id, model_id FROM embeddings ORDER BY memory_id, model_id"
        )

    async with database.transaction() as tables:
        ones = np.ones(2, dtype=np.float32)
        await tables.memories.put_vectors("old", [(memory.id, memory.text, ones) for memory in saved])
        await tables.memories.edit(saved[2].id, "four", NOW)
        await tables.memories.put_vectors("old", [(saved[2].id, "four", ones)])
        await tables.memories.put_vectors("new", [(saved[0].id, "one", ones), (saved[2].id, "three", ones)])
        assert await left() == [(saved[0].id, "new"), (saved[1].id, "old"), (saved[2].id, "old")]


async def test_d17_a_vector_of_another_length_counts_as_none(database: Database) -> None:
    """A server may put another model behind a name; no list takes what does not fit."""
    (memory,) = await save(database, build.draft())
    async with database.transaction() as tables:
        await tables.memories.put_vectors("model", [(memory.id, memory.text, np.ones(2, dtype=np.float32))])
        for dim, missing in ((None, ()), (2, ()), (3, (memory,))):
            assert await tables.memories.without_vector("model", 0, 10, dim) == (missing, memory.id)
            assert await tables.memories.count_without_vector("model", 0, 10, dim) == (len(missing), memory.id)
            assert await tables.memories.without_vector_of([build.ALICE], "model", dim) == missing


async def test_d17_what_some_owners_lack_comes_in_their_order(database: Database) -> None:
    alice, room, bau, ours, other = await save(
        database,
        build.draft("1"),
        build.draft("2", build.ROOM_LIST),
        build.draft("3", replace(build.ALICE_LIST, owner=build.BAU)),
        build.global_draft(),
        build.draft("5", replace(build.ALICE_LIST, persona="pirate")),
    )
    async with database.transaction() as tables:
        await tables.memories.put_vectors("model", [(ours.id, ours.text, np.ones(2, dtype=np.float32))])
        found = await tables.memories.without_vector_of([build.ROOM, "@nobody:hs", build.ALICE], "model")
        assert found == (room, alice, other)
        assert bau in (await tables.memories.without_vector("model", 0, 10))[0]
        assert await tables.memories.without_vector_of([], "model") == ()


async def test_columns_are_those_operators_rely_on(database: Database) -> None:
    """DESIGN, Storage: names and form of the columns."""
    await save(database, build.draft(source=Source.COMMAND, protected=True))
    async with database.transaction() as tables:
        columns = [row[1] for row in await tables.memories._sql.rows("PRAGMA table_info(memories)")]
        (row,) = await tables.memories._sql.rows("SELECT * FROM memories")
        candidates = [row[1] for row in await tables.memories._sql.rows("PRAGMA table_info(memory_candidates)")]
    assert columns == [
        "id",
        "scope_kind",
        "scope_id",
        "persona",
        "text",
        "source",
        "protected",
        "unused_days",
        "counted_on",
        "last_matched_at",
        "mentions",
        "first_seen",
        "created_at",
        "updated_at",
        "origin_room",
        "origin_event",
        "origin_private",
        "shared",
        "rooms",
        "tags",
    ]
    assert dict(zip(columns, row, strict=True)) == {
        "id": 1,
        "scope_kind": "personal",
        "scope_id": build.ALICE,
        "persona": "default",
        "text": "has a cat named Mochi",
        "source": "command",
        "protected": 1,
        "unused_days": 0,
        "counted_on": "2026-03-01",
        "last_matched_at": None,
        "mentions": 1,
        "first_seen": "2026-03-01T12:00:00.000250+00:00",
        "created_at": "2026-03-01T12:00:00.000250+00:00",
        "updated_at": "2026-03-01T12:00:00.000250+00:00",
        "origin_room": build.ROOM,
        "origin_event": "$origin",
        "origin_private": 0,
        "shared": 0,
        "rooms": "[]",
        "tags": "[]",
    }
    assert ", ".join(candidates) == (
        "id, user_id, text, mentions, first_seen, last_seen, origin_room, origin_event, origin_private"
    )


async def test_rooms_and_tags_are_read_from_json_arrays(database: Database) -> None:
    (memory,) = await save(database, build.draft())
    async with database.transaction() as tables:
        await tables.memories._sql.run(
            """UPDATE memories SET rooms = '["!a:b"]', tags = '["tea", "Käse"]', shared = 1"""
        )
        (read,) = await tables.memories.get([memory.id])
    assert read == replace(memory, shared=True, rooms=("!a:b",), tags=("tea", "Käse"))


@STORAGE
@given(earlier=build.moments, later=build.moments)
def test_the_order_of_stored_times_is_the_order_of_time(earlier: datetime, later: datetime) -> None:
    from storage.codec import read_time, time_text

    assert (time_text(earlier) < time_text(later)) == (earlier < later)
    assert read_time(time_text(earlier)) == earlier
    assert len(time_text(earlier)) == 32
    assert read_time(time_text(earlier)).tzinfo is UTC


async def test_a_room_list_is_never_a_users(database: Database) -> None:
    """One statement reads both kinds of list: the owner's first character keeps them apart."""
    await save(database, build.draft("room", build.ROOM_LIST), build.global_draft())
    async with database.transaction() as tables:
        assert await tables.memories.of_user(build.ROOM) == ()
        assert await tables.memories.of_list(ListKey(ScopeKind.PERSONAL, build.ROOM, "default")) == ()
