"""A person's memories as a file and back: what is written, what is read, and each reason for a refusal (D11, P18)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import transfer
from memory.errors import Refused
from memory.settings import MemorySettings
from memory.transfer_entry import Item
from memory.types import Draft, Memory, Origin, ScopeKind, Source

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
JUNO = "@juno:hs"
RULES = MemorySettings()


def memory(number: int, text: str, **changes: Any) -> Memory:
    base = Memory(
        id=number,
        scope=ScopeKind.PERSONAL,
        scope_id=JUNO,
        persona="default",
        text=text,
        source=Source.PROMOTION,
        protected=False,
        unused_days=3,
        counted_on=NOW.date(),
        last_matched_at=None,
        mentions=2,
        first_seen=NOW - timedelta(days=9),
        created_at=NOW - timedelta(days=5),
        updated_at=NOW,
        origin=Origin("!room:hs", "$1", False),
    )
    return replace(base, **changes)


def of(draft: Draft, number: int = 1) -> Memory:
    """The memory that storage makes of a draft."""
    return memory(
        number,
        draft.text,
        scope=draft.scope,
        persona=draft.persona,
        protected=draft.protected,
        unused_days=0,
        mentions=draft.mentions,
        first_seen=draft.first_seen,
        created_at=NOW,
        origin=draft.origin,
        shared=draft.shared,
        rooms=draft.rooms,
        tags=draft.tags,
    )


def file(*entries: object, **fields: object) -> bytes:
    return json.dumps({"version": 1, "memories": list(entries), **fields}).encode()


def drafts(data: bytes, *, private: bool = False) -> list[Draft]:
    return [transfer.draft_of(item, JUNO, "!here:hs", "$import", NOW) for item in transfer.read(data, private=private)]


def refusal(data: bytes) -> tuple[str, dict[str, str | int]]:
    with pytest.raises(Refused) as refused:
        transfer.read(data, private=False)
    return refused.value.text_id, refused.value.values


def test_a_file_holds_all_there_is_to_know_and_is_read_back_as_saved_now_unprotected_d11() -> None:
    hers = memory(
        4,
        "Has a cat ♥ “Mochi”",
        persona="pirate",
        protected=True,
        origin=Origin("!direct:hs", "$2", True),
        shared=True,
        rooms=("!a:hs", "!b:hs"),
        tags=("cat", "sea monster"),
    )
    everywhere = memory(7, "Lives in Kiel", scope=ScopeKind.GLOBAL, persona="", protected=True)
    data = transfer.written([hers, everywhere], JUNO, NOW)
    whole = json.loads(data)
    assert {key: whole[key] for key in ("version", "exported_at", "user")} == {
        "version": 1,
        "exported_at": "2026-03-02T09:00:00+00:00",
        "user": JUNO,
    }
    assert whole["memories"][0] == {
        "scope": "personal",
        "persona": "pirate",
        "text": "Has a cat ♥ “Mochi”",
        "created_at": "2026-02-25T09:00:00+00:00",
        "first_seen": "2026-02-21T09:00:00+00:00",
        "mentions": 2,
        "unused_days": 3,
        "protected": True,
        "private": True,
        "shared": True,
        "rooms": ["!a:hs", "!b:hs"],
        "tags": ["cat", "sea monster"],
    }
    first, second = drafts(data)
    assert first == Draft(
        scope=ScopeKind.PERSONAL,
        scope_id=JUNO,
        persona="pirate",
        text="Has a cat ♥ “Mochi”",
        source=Source.IMPORT,
        origin=Origin("!here:hs", "$import", True),
        first_seen=NOW - timedelta(days=9),
        mentions=2,
        protected=False,
        shared=True,
        rooms=("!a:hs", "!b:hs"),
        tags=("cat", "sea monster"),
    )
    assert (second.scope, second.persona, second.protected) == (ScopeKind.GLOBAL, "", True), "D11: global is protected"


@given(
    st.lists(
        st.builds(
            memory,
            st.integers(1, 99),
            st.sampled_from(["has a cat", "has a dog", "Kaffee, süß", "猫が好き"]),
            persona=st.sampled_from(["default", "pirate"]),
            mentions=st.integers(1, 9),
            origin=st.builds(Origin, st.just("!r:hs"), st.just("$1"), st.booleans()),
            shared=st.booleans(),
            rooms=st.sampled_from([(), ("!a:hs",), ("!a:hs", "!b:hs")]),
            tags=st.sampled_from([(), ("cat",)]),
        ),
        max_size=6,
    )
)
def test_what_was_exported_is_known_already_when_it_is_imported_again_p9(memories: list[Memory]) -> None:
    items = transfer.read(transfer.written(memories, JUNO, NOW), private=True)
    assert transfer.new_ones(items, memories, RULES) == ((), len(memories))
    fresh, there = transfer.new_ones(items, [], RULES)
    assert len(fresh) + there == len(memories)
    taken = [of(transfer.draft_of(item, JUNO, "!here:hs", "$2", NOW)) for item in fresh]
    assert transfer.new_ones(items, taken, RULES) == ((), len(memories)), "and again once it was"


def test_a_text_is_all_a_memory_needs_and_private_is_as_it_was_asked_d8() -> None:
    [said] = drafts(file({"text": "  likes\t tea "}))
    assert (said.text, said.persona, said.mentions, said.first_seen) == ("likes tea", "default", 1, NOW)
    assert (said.origin.private, said.shared, said.rooms, said.tags) == (False, False, (), ())
    [asked_in_private] = drafts(file({"text": "likes tea"}), private=True)
    assert asked_in_private.origin.private
    [file_says_so] = drafts(file({"text": "likes tea", "private": False}), private=True)
    assert not file_says_so.origin.private
    [never_private] = drafts(file({"text": "likes tea", "private": False, "shared": True}))
    assert not never_private.shared, "only what was said in private can be shared"


def test_the_first_sight_is_kept_if_it_is_past_and_the_owner_is_the_importer() -> None:
    past = NOW - timedelta(hours=3)
    zoned = past.astimezone(timezone(timedelta(hours=-7))).isoformat()
    moments = [zoned, "2026-03-02T06:00:00Z", (NOW + timedelta(seconds=1)).isoformat(), None]
    found = drafts(file(*({"text": f"t{n}", "first_seen": at} for n, at in enumerate(moments)), user="@bau:hs"))
    assert [draft.first_seen for draft in found] == [past, past, NOW, NOW]
    assert {draft.scope_id for draft in found} == {JUNO}


DEEP = b'{"version": 1, "memories": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "import-not-json"),
        (b"text", "import-not-json"),
        (b"\xff\xfe", "import-not-json"),
        (b'{"version": NaN, "memories": []}', "import-not-json"),
        (b'{"version": ' + b"9" * 5000 + b', "memories": []}', "import-not-json"),
        (DEEP, "import-not-json"),
        (b"[]", "import-not-export"),
        (b"{}", "import-not-export"),
        (file(version="1"), "import-not-export"),
        (file(version=True), "import-not-export"),
        (b'{"version": 1, "memories": {}}', "import-not-export"),
        (file(version=2), "import-version"),
        (file(version=2, new_key=1), "import-version"),
    ],
)
def test_what_is_no_export_is_refused_as_such(data: bytes, reason: str) -> None:
    assert refusal(data)[0] == reason


def test_a_key_that_may_be_a_misspelt_limit_is_refused_by_name() -> None:
    assert refusal(file({"text": "a", "privat": True})) == ("import-unknown-key-of", {"key": "privat", "number": 1})
    assert refusal(file(memory=[])) == ("import-unknown-key", {"key": "memory"})
    assert refusal(file({"text": "a", "`<b>": 1})) == ("import-unknown-key-of", {"key": "…", "number": 1})


@pytest.mark.parametrize("entry", ["text", None, 3, ["text"]])
def test_an_entry_that_is_no_memory_is_refused_by_number(entry: object) -> None:
    assert refusal(file({"text": "a"}, entry)) == ("import-no-memory", {"number": 2})


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("text", [None, 3, ["a"]]),
        ("scope", ["room", "", None, 1, []]),
        ("persona", ["", " ", "a b", "x" * 41, 1, None, "a/b"]),
        ("first_seen", ["yesterday", "2026-03-01", "2026-03-01T10:00:00", 5, "0001-01-01T00:00:00+14:00", {}]),
        ("mentions", [0, -1, 1.0, "2", True, None, 10**7]),
        ("private", [0, "true", None]),
        ("shared", [1, "yes", None]),
        (
            "rooms",
            ["!a:hs", [1], ["#alias:hs"], ["!a b"], ["!"], ["!" + "a" * 255], [f"!{n}" for n in range(101)], None],
        ),
        ("tags", ["cat", [1], [""], ["\u200b"], ["x" * 51], [str(n) for n in range(11)], None]),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_number_and_key(key: str, values: list[object]) -> None:
    for value in values:
        entry = {"text": "likes tea", key: value}
        assert refusal(file({"text": "a"}, entry)) == ("import-bad-value", {"number": 2, "key": key}), value


def test_a_global_memory_has_no_persona() -> None:
    assert drafts(file({"text": "a", "scope": "global", "persona": ""}))[0].persona == ""
    entry = {"text": "a", "scope": "global", "persona": "pirate"}
    assert refusal(file(entry)) == ("import-bad-value", {"number": 1, "key": "persona"})


def test_blank_and_overlong_texts_are_refused_by_number_p18() -> None:
    assert refusal(file({"text": "a"}, {"text": " \u200b\u202e "})) == ("import-text-blank", {"number": 2})
    values = {"number": 1, "length": 501, "limit": 500}
    assert refusal(file({"text": "x" * 501})) == ("import-text-too-long", values)
    assert len(drafts(file({"text": "x" * 500}))) == 1
    assert drafts(file({"text": "a\u202eb\nc\ud800"}))[0].text == "ab c"


def test_a_thousand_memories_are_the_most() -> None:
    entries = [{"text": f"fact {n}"} for n in range(1001)]
    assert len(drafts(file(*entries[:1000]))) == 1000
    assert refusal(file(*entries)) == ("import-too-many", {"n": 1001, "limit": 1000})


NEW: list[tuple[str, Callable[[Item], Item]]] = [
    ("another persona", lambda item: replace(item, persona="pirate")),
    ("global", lambda item: replace(item, scope=ScopeKind.GLOBAL, persona="")),
    ("private", lambda item: replace(item, private=True)),
    ("shared", lambda item: replace(item, private=True, shared=True)),
    ("limited", lambda item: replace(item, rooms=("!a:hs",))),
    ("tagged", lambda item: replace(item, tags=("cat",))),
]


@pytest.mark.parametrize(("name", "change"), NEW, ids=[name for name, _ in NEW])
def test_equal_text_is_there_already_in_the_same_list_and_visibility_only_p9(
    name: str, change: Callable[[Item], Item]
) -> None:
    there = memory(1, "Has a cat named Mochi.")
    same = Item("has a CAT   named mochi")
    assert transfer.new_ones([same, same], [there], RULES) == ((), 2)
    other = change(same)
    assert transfer.new_ones([other, other, same], [there], RULES) == ((other,), 2)


def test_a_list_that_cannot_take_all_refuses_all_and_names_itself_d9_d11() -> None:
    rules = MemorySettings(capacity_personal=3)
    existing = [memory(1, "one"), memory(2, "two", persona="pirate")]
    existing += [memory(3 + n, f"everywhere {n}", scope=ScopeKind.GLOBAL, persona="") for n in range(5)]
    fits = [Item("three"), Item("four"), Item("one"), Item("five", persona="pirate")]
    assert transfer.new_ones(fits, existing, rules) == ((fits[0], fits[1], fits[3]), 1)
    with pytest.raises(Refused) as refused:
        transfer.new_ones([*fits, Item("six")], existing, rules)
    assert refused.value.text_id == "import-list-full"
    assert refused.value.values == {"persona": "default", "n": 3, "free": 2}
    many = [Item(f"global {n}", scope=ScopeKind.GLOBAL, persona="") for n in range(9)]
    assert transfer.new_ones(many, existing, rules) == (tuple(many), 0), "no capacity counts global memories"
    over = [memory(1, "one"), memory(2, "two")]
    with pytest.raises(Refused) as refused:
        transfer.new_ones([Item("three")], over, MemorySettings(capacity_personal=1))
    assert refused.value.values == {"persona": "default", "n": 1, "free": 0}


def test_an_import_does_not_check_the_cap_of_extraction_p16() -> None:
    existing = [memory(n, f"fact {n}") for n in range(60)]
    assert len(transfer.new_ones([Item("one more")], existing, RULES)[0]) == 1


KEYS = ["version", "user", "memories", "text", "persona", "scope", "first_seen", "mentions", "private", "tags", "x"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    for data in (json.dumps(value).encode(), file(value), file({"text": "a", "rooms": value})):
        try:
            items = transfer.read(data, private=False)
        except Refused:
            continue
        assert all(isinstance(item, Item) for item in items)
