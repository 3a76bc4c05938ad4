"""Where it is said what an explicit save did, and in which words (D12)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from actors.answers import Private
from memory.capacity import Named, Saved
from texts.catalogue import Speaker
from texts.markdown import escape

Notices = Literal["room", "private", "off"]  # `memory.notices`


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Markdown for the room and for the caller's direct room with the bot; "" where nothing is said there.

    secret: what is told in private holds what the room may not see.
    """

    room: str = ""
    private: str = ""
    secret: bool = True

    def privately(self, user_id: str) -> tuple[Private, ...]:
        """Return what this person is told where nobody else reads it."""
        return (Private(user_id, self.private, secret=self.secret),) if self.private else ()


def notice(say: Speaker, saved: Saved, notices: Notices, *, private: bool) -> Confirmation:
    """Return what the bot says on its own account of what a tool saved. `private`: only the caller is in the room.

    Text that the room may not see is named by id there and told to its owner in private; a room's list has no owner
    to tell.
    """
    if notices == "off" or not saved.new:
        return Confirmation()
    saved = _as_seen_now(saved, private=private)
    if notices == "private" and not private:
        return Confirmation(private=_in_private(say, saved))
    hidden = not private and not saved.of_room and any(not each.shown for each in _named(saved))
    return Confirmation(_shown(say, saved), _in_private(say, saved) if hidden else "")


def forgotten_notice(say: Speaker, ids: Iterable[int], notices: Notices, *, private: bool) -> Confirmation:
    """Return what the bot says of own memories that the model forgot for the caller, and how to have them back."""
    if notices == "off":
        return Confirmation()
    told = say("memories-forgotten-undo", ids=", ".join(f"#{memory_id}" for memory_id in ids))
    return _placed(told, notices, private=private)


def refusal_notice(told: str, notices: Notices, *, private: bool) -> Confirmation:
    """Return why a full list takes nothing more; the one who asked is told so whatever `memory.notices` says (D10)."""
    return replace(_placed(told, notices, private=private), secret=False)


def _placed(told: str, notices: Notices, *, private: bool) -> Confirmation:
    return Confirmation(private=told) if notices == "private" and not private else Confirmation(told)


def answer(say: Speaker, saved: Saved, notices: Notices, *, private: bool) -> Confirmation:
    """Return what a command that saved answers: in the room always, even if only the ids."""
    if not saved.new:
        there = say("memory-there", id=str(saved.memory.id))
        return Confirmation(f"{there} {say('memory-protected-now')}" if saved.protected else there)
    if notices == "private" and not private:
        return Confirmation(_ids(say, saved), _in_private(say, saved))
    return notice(say, saved, "room", private=private)


def _as_seen_now(saved: Saved, *, private: bool) -> Saved:
    """Return it without the texts where somebody has come in since it was saved, before it could be told (D8)."""
    if private or not saved.in_private:
        return saved
    forgotten = None if saved.forgotten is None else replace(saved.forgotten, shown=False)
    return replace(saved, memory=replace(saved.memory, shown=False), forgotten=forgotten)


def _named(saved: Saved) -> tuple[Named, ...]:
    return (saved.memory,) if saved.forgotten is None else (saved.memory, saved.forgotten)


def _shown(say: Speaker, saved: Saved) -> str:
    return _sentences(say, saved, {each.id for each in _named(saved) if each.shown})


def _ids(say: Speaker, saved: Saved) -> str:
    return _sentences(say, saved, set())


def _in_private(say: Speaker, saved: Saved) -> str:
    """Say all of it to the owner; of a room's list no more than the room may see."""
    return _shown(say, saved) if saved.of_room else _sentences(say, saved, {each.id for each in _named(saved)})


def _sentences(say: Speaker, saved: Saved, texts: set[int]) -> str:
    """Say what was saved and what was forgotten for it; `texts`: the ids whose text is told."""
    said = [_saved(say, saved, told=saved.memory.id in texts)]
    if saved.forgotten is not None:
        said.append(_forgotten(say, saved.forgotten, told=saved.forgotten.id in texts))
    return "\n\n".join(said)


def _saved(say: Speaker, saved: Saved, *, told: bool) -> str:
    memory_id, text = str(saved.memory.id), escape(saved.memory.text)
    if not told:
        return say("memory-saved-id", id=memory_id)
    if saved.of_room:
        return say("memory-saved-room", id=memory_id, text=text)
    return say("memory-saved", id=memory_id, text=text)


def _forgotten(say: Speaker, memory: Named, *, told: bool) -> str:
    if told:
        return say("memory-forgotten-for-it", id=str(memory.id), text=escape(memory.text))
    return say("memory-forgotten-for-it-id", id=str(memory.id))
