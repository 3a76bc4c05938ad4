"""Which memories a prompt holds and where (D5, D6, D8, D14), decided once for the prompt, the tools and `!why`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory import decay
from memory.types import Given, Memory, ScopeKind


@dataclass(frozen=True, slots=True)
class Contents:
    """The memories of one prompt; each of them stands in one place only.

    room, people: the start, people in the order they joined the window. tagged: active ones that are in use because a
    tag of theirs was heard; they come and go with the words, and so stand near the end. recalled: those that rested
    when the search matched them, best match first.
    """

    room: tuple[Memory, ...] = ()
    people: tuple[tuple[str, tuple[Memory, ...]], ...] = ()
    tagged: tuple[Memory, ...] = ()
    recalled: tuple[Memory, ...] = ()

    @property
    def given(self) -> Given:
        """What the reply is given, as the journal keeps it for `!why`."""
        return Given(tuple(memory.id for memory in self._at_hand()), tuple(memory.id for memory in self.recalled))

    def owned_by(self, user_id: str) -> frozenset[int]:
        """Return the ids of this person's own memories, personal and global, in this prompt."""
        everything = (*self._at_hand(), *self.recalled)
        return frozenset(m.id for m in everything if m.scope is not ScopeKind.ROOM and m.scope_id == user_id)

    def _at_hand(self) -> Iterator[Memory]:
        yield from self.room
        for _, memories in self.people:
            yield from memories
        yield from self.tagged


def choose(
    *,
    room: Sequence[Memory],
    people: Sequence[tuple[str, Sequence[Memory]]],
    recalled: Sequence[int],
    rest_after_days: int | None,
    rested: Sequence[int] = (),
) -> Contents:
    """Decide what a prompt holds of the memories usable in its conversation, as they stood before this turn's search.

    recalled: ids of the resting memories that the search matched (D6), best first; those that are usable no more are
    left out. rest_after_days: None when decay is off, so that nothing rests (D13). rested: ids of those that came to
    rest by this turn's search: where the turn is taken up again after a crash they stand as they do after it (D14).
    """
    apart = frozenset(recalled)

    def active(memories: Iterable[Memory]) -> list[Memory]:
        awake = {memory.id for memory in decay.active(memories, rest_after_days)}.union(rested) - apart
        return [memory for memory in memories if memory.id in awake]

    of_room = active(room)
    of_people = [(user_id, active(memories)) for user_id, memories in people]
    everything = (memory for memories in (room, *(mine for _, mine in people)) for memory in memories)
    found = {memory.id: memory for memory in everything if memory.id in apart}
    return Contents(
        room=_untagged(of_room),
        people=tuple((user_id, _untagged(memories)) for user_id, memories in of_people),
        tagged=tuple(m for memories in (of_room, *(mine for _, mine in of_people)) for m in memories if m.tags),
        recalled=tuple(found[memory_id] for memory_id in recalled if memory_id in found),
    )


def _untagged(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    return tuple(memory for memory in memories if not memory.tags)
