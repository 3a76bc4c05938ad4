"""Any sequence of commands that take something away, and undo, against a plain list of what there should be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.actors.conftest import Bot
from tests.actors.owned import answer
from tests.actors.owned import given as given_memory

_people = count(1)
_which = st.integers(0, 3)  # of the memories there were at first; the last is nobody's
_commands = st.one_of(
    st.tuples(st.just("del"), st.lists(_which, min_size=1, max_size=3)),
    st.tuples(st.just("edit"), _which, st.sampled_from(["Has a dog", "Has a bird", "has a dog"])),
    st.tuples(st.just("tag"), _which),
    st.tuples(st.just("clear")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("wait"), st.integers(1, 11)),
)


@dataclass
class Plain:
    """One person's memories by id: text, protected, tagged; and the one step back: when, and what there was."""

    there: dict[int, tuple[str, bool, bool]]
    step: tuple[datetime, dict[int, tuple[str, bool, bool]]] | None = None

    def delete(self, ids: list[int], now: datetime) -> None:
        gone = {each: self.there.pop(each) for each in dict.fromkeys(ids) if each in self.there}
        if gone:
            self.step = (now, gone)

    def edit(self, which: int, text: str, now: datetime) -> None:
        if which in self.there:
            self.step = (now, {which: self.there[which]})
            self.there[which] = (text, True, self.there[which][2])

    def tag(self, which: int) -> None:
        if which in self.there:
            self.there[which] = (*self.there[which][:2], True)

    def undo(self, now: datetime) -> bool:
        if self.step is None or now - self.step[0] > timedelta(minutes=10):
            return False
        for each, (text, protected, tagged) in self.step[1].items():
            self.there[each] = (text, protected, tagged or self.there.get(each, ("", False, False))[2])
        self.step = None
        return True


# Each example has a person of its own, so that all may share one bot.
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commands=st.lists(_commands, min_size=2, max_size=8))
async def test_what_is_there_is_what_was_done_and_not_undone(bot: Bot, commands: list[tuple[object, ...]]) -> None:
    person = f"@p{next(_people)}:hs"
    ids = [(await given_memory(bot, text, person)).id for text in ("Has a cat", "Likes tea", "Lives in Graz")]
    ids.append((await given_memory(bot, "Has a boat", "@nobody:hs")).id)
    plain = Plain({each.id: (each.text, False, False) for each in await bot.memories(person)})
    for command in commands:
        now = bot.clock.now()
        match command:
            case ("del", list(which)):
                plain.delete([ids[each] for each in which], now)
                await answer(bot, "!memories del " + " ".join(f"#{ids[each]}" for each in which), person)
            case ("edit", int(which), str(text)):
                plain.edit(ids[which], text, now)
                await answer(bot, f"!memories edit {ids[which]} {text}", person)
            case ("tag", int(which)):
                plain.tag(ids[which])
                await answer(bot, f"!memories tag {ids[which]} cat", person)
            case ("clear",):
                plain.delete([*plain.there], now)
                await answer(bot, "!memories clear", person)
            case ("undo",):
                said = await answer(bot, "!memories undo", person)
                assert said.startswith("Undone.") == plain.undo(now)
            case ("wait", int(minutes)):
                bot.clock.advance(timedelta(minutes=minutes))
        stored = {each.id: (each.text, each.protected, bool(each.tags)) for each in await bot.memories(person)}
        assert stored == plain.there
