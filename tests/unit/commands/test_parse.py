import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands.memory_arguments import MOST_IN_RANGES
from commands.memory_values import (
    ClearMine,
    DeleteMine,
    DeleteRoom,
    EditMine,
    EditRoom,
    GlobalMine,
    LimitMine,
    ListMine,
    ListRoom,
    ShareMine,
    ShowMine,
    ShowRoom,
    TagMine,
    TooManyIds,
    UndoMine,
    UndoRoom,
    UnshareMine,
)
from commands.parse import parse
from commands.scene_values import BeginScene, EndScene, ShowScene
from commands.table import TABLE
from commands.values import Help, Misused, StartTurn, Unknown, Value
from memory.types import TurnKind


def value(text: str, prefix: str = "!") -> Value | None:
    call = parse(text, prefix, TABLE)
    return None if call is None else call.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("!ask how is Mochi?", StartTurn("how is Mochi?")),
        ("!ASK how", StartTurn("how")),
        ("  !ask how  ", StartTurn("how")),
        ("!ask\nfirst line\n\n  second", StartTurn("first line\n\n  second")),
        ("!ask\u00a0how", StartTurn("how")),
        ("!ask\u3000how", StartTurn("how")),
        ("!code a clock", StartTurn("a clock", TurnKind.CODE)),
        ("!verse I wait", StartTurn("I wait", TurnKind.VERSE)),
        ("!verse", ShowScene()),
        ("!verse on", BeginScene()),
        ("!Verse OFF ", EndScene()),
        ("!verse On the deck", StartTurn("On the deck", TurnKind.VERSE)),
        ("!verse off\nI go", StartTurn("off\nI go", TurnKind.VERSE)),
        ("!help", Help()),
        ("!help memories", Help("memories")),
        ("!memories", ListMine()),
        ("!Memories  ", ListMine()),
        ("!memories list", ListMine()),
        ("!memory", ListMine()),
        ("!memory room List", ListRoom()),
        ("!memories del 3", DeleteMine((3,))),
        ("!memories delete 3", DeleteMine((3,))),
        ("!memories DEL #3", DeleteMine((3,))),
        ("!memories del 3,", DeleteMine((3,))),
        ("!memories del 3, 4 5", DeleteMine((3, 4, 5))),
        ("!memories del #3,#4", DeleteMine((3, 4))),
        ("!memories\u2003del\u00a03\u20284", DeleteMine((3, 4))),
        ("!memories del 3 3 #3", DeleteMine((3,))),
        ("!memories del 4 mochi 3 -1 1.5", DeleteMine((4, 3), ("mochi", "-1", "1.5"))),
        ("!memories del " + "9" * 30, DeleteMine((), ("9" * 30,))),
        ("!memories del ٣", DeleteMine((), ("٣",))),
        ("!memories edit 3 Her cat is Mochi", EditMine(3, "Her cat is Mochi")),
        ("!memories edit #3, two  words", EditMine(3, "two  words")),
        ("!memories clear", ClearMine()),
        ("!memories del 3-5", DeleteMine((3, 4, 5))),
        ("!memories del #3-#5", DeleteMine((3, 4, 5))),
        ("!memories del #3-5.", DeleteMine((3, 4, 5))),
        ("!memories del 3 - 5", DeleteMine((3, 4, 5))),
        ("!memories del 3\u20135", DeleteMine((3, 4, 5))),
        ("!memories del #3 \u2014 #5", DeleteMine((3, 4, 5))),
        ("!memories del 3\u22125, 4", DeleteMine((3, 4, 5))),
        ("!memories del 3-3", DeleteMine((3,))),
        ("!memories del 3 and 4", DeleteMine((3, 4))),
        ("!memories del #3, #4 and #6.", DeleteMine((3, 4, 6))),
        ("!memories del 3 und 4 & 5 + 6", DeleteMine((3, 4, 5, 6))),
        ("!memories del 3 -1", DeleteMine((3,), ("-1",))),
        ("!memories del 3- 5", DeleteMine((5,), ("3-",))),
        ("!memories del 5-3", DeleteMine((), ("5-3",))),
        ("!memories del 3-5-7", DeleteMine((), ("3-5-7",))),
        ("!memories del 1-200", DeleteMine(tuple(range(1, 201)))),
        ("!memories del 1-201", TooManyIds(MOST_IN_RANGES)),
        ("!memories del 1-150 301-351", TooManyIds(MOST_IN_RANGES)),
        ("!memories del 1-999999999999999999", TooManyIds(MOST_IN_RANGES)),
        ("!memories show 3", ShowMine(3)),
        ("!memories show #3.", ShowMine(3)),
        ("!memories share 3 4-5 x", ShareMine((3, 4, 5), ("x",))),
        ("!memories unshare #3", UnshareMine((3,))),
        ("!memories limit 3 4 here", LimitMine(True, (3, 4))),
        ("!memories limit 3, HERE", LimitMine(True, (3,))),
        ("!memories limit off 3-4", LimitMine(False, (3, 4))),
        ("!memories limit 3 there off", LimitMine(False, (3,), ("there",))),
        ("!memories limit 1-201 here", TooManyIds(MOST_IN_RANGES)),
        ("!memories tag 3", TagMine(3)),
        ("!memories tag #3, Fish  Caf\u00e9, fish", TagMine(3, ("Fish", "Caf\u00e9", "fish"))),
        (
            '!memories tag 3 "New York" \u201eAlter Hof\u201c \u201cold inn\u201d x',
            TagMine(3, ("New York", "Alter Hof", "old inn", "x")),
        ),
        ('!memories tag 3 5" disk', TagMine(3, ('5"', "disk"))),
        ("!memories global 3 4", GlobalMine((3, 4))),
        ("!memories undo", UndoMine()),
        ("!memories room", ListRoom()),
        ("!memories room show 3", ShowRoom(3)),
        ("!memories ROOM delete 3-4 x", DeleteRoom((3, 4), ("x",))),
        ("!memories room edit 3 Quiz is on Friday", EditRoom(3, "Quiz is on Friday")),
        ("!memories room undo", UndoRoom()),
    ],
)
def test_a_command_is_read(text: str, expected: Value) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("!ask", ["ask"]),
        ("!ask   \n", ["ask"]),
        ("!code", ["code"]),
        ("!memories del", ["memories", "del"]),
        ("!memories del , ,", ["memories", "del"]),
        ("!memories edit", ["memories", "edit"]),
        ("!memories edit 3", ["memories", "edit"]),
        ("!memories edit three cats", ["memories", "edit"]),
        ("!memories clear 3", ["memories", "clear"]),
        ("!memories undo 3", ["memories", "undo"]),
        ("!memories del and", ["memories", "del"]),
        ("!memories show", ["memories", "show"]),
        ("!memories show 3 4", ["memories", "show"]),
        ("!memories share", ["memories", "share"]),
        ("!memories limit", ["memories", "limit"]),
        ("!memories limit 3", ["memories", "limit"]),
        ("!memories limit here", ["memories", "limit"]),
        ("!memories limit 3 elsewhere", ["memories", "limit"]),
        ("!memories tag", ["memories", "tag"]),
        ("!memories tag fish", ["memories", "tag"]),
        ("!memories tag 3 ,", ["memories", "tag"]),
        ("!memories room 3", ["memories", "room"]),
        ("!memories room clear", ["memories", "room"]),
        ("!memories room edit 3", ["memories", "room", "edit"]),
        ("!memories forget 3", ["memories"]),
    ],
)
def test_arguments_that_cannot_be_read_are_misuse_of_the_named_command(text: str, names: list[str]) -> None:
    call = parse(text, "!", TABLE)
    assert call is not None
    assert call.value == Misused()
    assert [row.name for row in call.path] == names


@pytest.mark.parametrize(
    "text", ["", "!", "hello", "hello !ask x", "!!ask x", "! ask x", "!1", "!?", "?ask x", "\u200b!ask"]
)
def test_what_does_not_start_with_prefix_and_letter_is_no_command(text: str) -> None:
    assert value(text) is None


def test_another_word_is_named() -> None:
    assert value("!weather Berlin") == Unknown("weather")
    assert value("!memoriesdel 3") == Unknown("memoriesdel")


@pytest.mark.parametrize("prefix", ["?", "bot:", "..", "🗄"])
def test_the_prefix_is_configurable(prefix: str) -> None:
    assert value(f"{prefix}ask how", prefix) == StartTurn("how")
    assert value("!ask how", prefix) is None


@given(st.text(max_size=60))
def test_any_text_is_read_the_same_twice_and_never_fails(text: str) -> None:
    for start in (
        "",
        "!memories ",
        "!memories del ",
        "!memories edit ",
        "!memories limit ",
        "!memories tag ",
        "!ask ",
        "!help ",
    ):
        assert parse(start + text, "!", TABLE) == parse(start + text, "!", TABLE)


@given(st.lists(st.integers(1, 10**17), min_size=1, max_size=20), st.sampled_from([" ", ", ", ",", "\u00a0", "\n"]))
def test_ids_are_read_however_they_are_separated(ids: list[int], separator: str) -> None:
    assert value("!memories del " + separator.join(f"#{each}" for each in ids)) == DeleteMine(tuple(dict.fromkeys(ids)))
