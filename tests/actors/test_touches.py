"""Which tables each kind of turn touches, and that the search of D2 happens once in a turn that remembers and in no
other. For commands see test_touches_commands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from commands.table import TABLE, find
from index.builtin import BuiltinEmbedder
from memory.errors import ModelError
from memory.media import MediaKind
from memory.model import Usage
from memory.quota import CommandQuota, Quota
from memory.settings import KindSettings, MemorySettings
from memory.types import ListKey, ScopeKind, TurnKind
from tests.actors.conftest import JUNO, ROOM
from tests.actors.touching import ALWAYS_SAID as SAID
from tests.actors.touching import Watch, send_file, watched
from texts.catalogue import Speaker, languages

# By the model. Files stand in `attachments`, a story's steps in `effects`, only until it is done.
CHARGED = SAID | {"usage"}
REMEMBERS = CHARGED | {"memories"}  # D2-D4: used, or a day older
LEARNS = REMEMBERS | {"memory_candidates", "mentions"}  # P4, P7
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>A cat</title><circle r="4"/></svg>'


@dataclass(frozen=True)
class Case:
    """How a turn of a kind begins, and what it touches. said: what is searched with; "" where nothing is. why: what
    `!why` says of it. answer: the model's.
    """

    message: str
    said: str
    tables: Iterable[str]
    why: str
    answer: str = "answer"


KINDS = {
    TurnKind.ASK: Case("does my cat like tea?", "does my cat like tea?", LEARNS, "was given 3 memories"),
    TurnKind.CODE: Case("!code a cat in Python", "a cat in Python", LEARNS, "to a request for code"),
    TurnKind.VERSE: Case("!verse I stroke the cat", "I stroke the cat", LEARNS, "part of a scene"),
    TurnKind.DRAW: Case("!draw my cat", "", CHARGED, "was a drawing", SVG),
    TurnKind.STORY: Case("!story of my cat", "", CHARGED, "was a story", SVG),
}
MINE = ListKey(ScopeKind.PERSONAL, JUNO, "default")
OURS = ListKey(ScopeKind.ROOM, ROOM, "default")
DOCUMENTS = ListKey(ScopeKind.ROOM, ROOM, "")


@pytest.fixture
async def watch(tmp_path: Path, embedder: BuiltinEmbedder, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watch]:
    async with watched(tmp_path, embedder, monkeypatch) as each:
        yield each


@pytest.mark.parametrize("kind", TurnKind)
async def test_d2_p1_a_turn_touches_its_tables_and_searches_once_if_it_remembers(watch: Watch, kind: TurnKind) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.model.answer = lambda prompt: case.answer
    with watch.watching() as seen:
        await bot.say(case.message)
    assert seen.turns == Counter({(kind, "answered"): 1})
    assert seen.tables == set(case.tables)
    assert seen.queries == ((case.said,) if case.said else ())
    assert Counter(seen.lists) == (Counter((MINE, OURS)) if case.said else Counter())
    assert seen.documents == ()
    assert bool(case.said) is kind.remembers
    assert bool(bot.model.requests) is kind.remembers, "a pass follows"
    assert ("Mochi" in str(bot.model.prompts)) is kind.remembers, "memories are sent"
    await bot.say("and now?")
    earlier = str(bot.model.prompts[-1].messages[:-1])
    assert ("cat" in earlier) is kind.remembers, "it is part of the conversation"


@pytest.mark.parametrize("kind", TurnKind)
async def test_d2_documents_are_searched_with_the_same_vector_if_the_turn_remembers(
    watch: Watch, kind: TurnKind
) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.model.answer = lambda prompt: case.answer
    await bot.say("!documents add", reply_to=send_file(bot))
    with watch.watching() as seen:
        await bot.say(case.message)
    assert seen.tables == set(case.tables)
    assert seen.queries == ((case.said,) if case.said else ())
    assert seen.documents == ((DOCUMENTS,) if case.said else ())


@pytest.mark.parametrize("documents", [False, True])
@pytest.mark.parametrize("kind", TurnKind)
async def test_d13_without_decay_the_message_is_embedded_for_documents_alone(
    watch: Watch, kind: TurnKind, *, documents: bool
) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.model.answer = lambda prompt: case.answer
    bot.settings.rules = MemorySettings(decay_enabled=False)
    if documents:
        await bot.say("!documents add", reply_to=send_file(bot))
    with watch.watching() as seen:
        await bot.say(case.message)
    assert seen.tables == set(case.tables) - {"memories"}
    found = documents and kind.remembers
    assert (seen.queries, seen.documents) == (((case.said,), (DOCUMENTS,)) if found else ((), ()))
    assert seen.lists == ()


@pytest.mark.parametrize("kind", TurnKind)
async def test_d2_p1_a_turn_that_fails_has_searched_and_teaches_nothing(watch: Watch, kind: TurnKind) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.model.answer = lambda prompt: ModelError("down", (Usage("fake", 3),))
    bot.model.planner = lambda request: ModelError("down", (Usage("fake", 3),))
    with watch.watching() as seen:
        await bot.say(case.message)
    assert seen.turns == Counter({(kind, "failed"): 1})
    assert seen.tables == (REMEMBERS if kind.remembers else CHARGED)
    assert seen.queries == ((case.said,) if case.said else ())


@pytest.mark.parametrize("kind", TurnKind)
async def test_a_kind_has_help_in_every_language_a_quota_and_its_place_in_why(watch: Watch, kind: TurnKind) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.model.answer = lambda prompt: case.answer
    row = find(TABLE, kind.value)
    assert row is not None
    assert row.quota is not None
    assert len({Speaker(language)(row.help) for language in languages()}) == len(languages())
    await bot.say(f"!help {kind.value}")
    assert Speaker()(row.help) in bot.matrix.bodies()[-1]
    await bot.say(case.message)
    await bot.say("!why")
    assert case.why in bot.matrix.bodies()[-1]


@pytest.mark.parametrize("kind", TurnKind)
async def test_a_kind_that_is_asked_too_often_touches_nothing(watch: Watch, kind: TurnKind) -> None:
    case, bot = KINDS[kind], watch.bot
    bot.settings.admins.clear()  # who has no quota
    bot.settings.quotas[kind.value] = CommandQuota(user=Quota(0, timedelta(minutes=1)))
    with watch.watching() as seen:
        await bot.say(case.message)
    assert seen.tables == SAID
    assert (seen.queries, seen.turns) == ((), Counter())
    assert bot.model.prompts == []


OFF = {
    TurnKind.VERSE: KindSettings(),
    TurnKind.DRAW: KindSettings(draw_enabled=False),
    TurnKind.STORY: KindSettings(story_enabled=False),
}


@pytest.mark.parametrize("kind", OFF)
async def test_a_kind_that_is_switched_off_touches_nothing(watch: Watch, kind: TurnKind) -> None:
    watch.bot.settings.of_kinds = OFF[kind]
    with watch.watching() as seen:
        await watch.bot.say(KINDS[kind].message)
    assert "switched off" in watch.bot.matrix.bodies()[-1] or "switched on" in watch.bot.matrix.bodies()[-1]
    assert seen.tables == SAID
    assert (seen.queries, seen.turns) == ((), Counter())
    assert watch.bot.model.prompts == []


@pytest.mark.parametrize("message", ["", "  ", "\u200b\u2800"])
async def test_d2_a_message_without_text_searches_nothing(watch: Watch, message: str) -> None:
    bot = watch.bot
    await bot.say("!documents add", reply_to=send_file(bot))
    with watch.watching() as seen:
        await bot.say(message, direct=True, alone=True)
    assert (seen.queries, seen.lists, seen.documents) == ((), (), ())


TEXT = {"text": "what is this cat?", "media": MediaKind.IMAGE}
PICTURES: dict[str, tuple[dict[str, object], str, Iterable[str]]] = {
    "with a caption": (TEXT, "what is this cat?", LEARNS),
    "alone": ({"text": "", "media": MediaKind.IMAGE, "direct": True, "alone": True}, "", CHARGED),
    "replied to": ({"text": "what is this cat?", "reply_to": "$picture"}, "what is this cat?", LEARNS),
}


@pytest.mark.parametrize("shown", PICTURES)
async def test_d2_a_turn_with_a_picture_searches_with_its_text_and_touches_no_more(watch: Watch, shown: str) -> None:
    details, said, tables = PICTURES[shown]
    bot = watch.bot
    await bot.say("!documents add", reply_to=send_file(bot))
    send_file(bot, "$picture", MediaKind.IMAGE)
    message = bot.message(**details)  # type: ignore[arg-type]
    send_file(bot, message.event_id, MediaKind.IMAGE)
    with watch.watching() as seen:
        await bot.deliver(message)
        await bot.settle()
    assert len(bot.model.prompts[-1].messages[-1].images) == 1
    assert seen.turns == Counter({(TurnKind.ASK, "answered"): 1})
    assert seen.tables == set(tables)
    assert (seen.queries, seen.documents) == (((said,), (DOCUMENTS,)) if said else ((), ()))
    assert Counter(seen.lists) == (Counter((MINE, OURS)) if said else Counter())


@pytest.mark.parametrize("kind", [MediaKind.AUDIO, MediaKind.VIDEO, MediaKind.FILE])
async def test_d2_what_is_not_understood_and_has_no_text_searches_nothing(watch: Watch, kind: MediaKind) -> None:
    with watch.watching() as seen:
        await watch.bot.say("", media=kind, direct=True, alone=True)
    assert seen.tables == SAID
    assert (seen.queries, seen.lists, seen.turns) == ((), (), Counter())
