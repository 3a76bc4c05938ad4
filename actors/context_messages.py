"""What actors are told and asked about privacy levels, personas and what stands in conversation windows."""

from __future__ import annotations

from dataclasses import dataclass

from actors.messages import EffectKey, Request
from memory.types import Privacy


@dataclass(frozen=True, slots=True)
class ReadPrivacy(Request[Privacy]):
    """Return the user's privacy level; user actor only."""


@dataclass(frozen=True, slots=True)
class SetPrivacy(Request[None]):
    """Set the user's privacy level and drop the passes of what was said before (P20); user actor only."""

    level: Privacy
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class SetPersona(Request[None]):
    """Make a persona the room's current one; turns under way keep theirs (P11). Room actor only."""

    persona: str
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class ForgetContext(Request[None]):
    """Let all that was said in this room, and by this person in every room, leave the context; room actor only.

    Answered once the room's own windows are empty; other rooms hear of it right after.
    """

    user_id: str
    effect: EffectKey


@dataclass(frozen=True, slots=True)
class LeftContext:
    """What this person said up to a journal number has left the context; the journal says so already.

    silent: the person is not to be answered any more either.
    """

    user_id: str
    through: int
    silent: bool = False
