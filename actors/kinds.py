"""Which runner answers which kind of turn."""

from __future__ import annotations

from actors.drawing import DrawRunner
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.story import StoryRunner, say_stopped
from actors.turn import TurnRunner
from actors.turns import Answered, Runner, Turn
from memory.events import Incoming
from memory.types import TurnKind


class Runners:
    """The runners of one room."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts, self._system = parts, system
        remembering = TurnRunner(parts, system)
        self._by_kind: dict[TurnKind, Runner] = {kind: remembering for kind in TurnKind if kind.remembers}
        self._by_kind[TurnKind.DRAW] = DrawRunner(parts, system)
        self._by_kind[TurnKind.STORY] = StoryRunner(parts, system)

    async def run(self, turn: Turn) -> Answered | None:
        """Answer a turn by the runner of its kind; see Runner."""
        return await self._by_kind[turn.kind].run(turn)

    async def stopped(self, event: Incoming, kind: TurnKind | None) -> None:
        """Say what is to be said of a turn that was stopped since its message was redacted; kind None: a command."""
        if kind is TurnKind.STORY:
            await say_stopped(self._parts, self._system, event)
