"""Which runner answers which kind of turn."""

from __future__ import annotations

from actors.drawing import DrawRunner
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.story import StoryRunner
from actors.turn import TurnRunner
from actors.turns import Answered, Runner, Turn
from memory.types import TurnKind


class Runners:
    """The runners of one room."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        remembering = TurnRunner(parts, system)
        self._by_kind: dict[TurnKind, Runner] = {kind: remembering for kind in TurnKind if kind.remembers}
        self._by_kind[TurnKind.DRAW] = DrawRunner(parts, system)
        self._by_kind[TurnKind.STORY] = StoryRunner(parts, system)

    async def run(self, turn: Turn) -> Answered | None:
        """Answer a turn by the runner of its kind; see Runner."""
        return await self._by_kind[turn.kind].run(turn)
