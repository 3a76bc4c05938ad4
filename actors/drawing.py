"""Drawings (`!draw`, the pictures of `!story`): from a description to a picture, and the turn that draws one.

They use no memories, search nothing and teach nothing (RULES.md, Words): what was asked enters no conversation window,
and no extraction follows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from actors.answers import Said, answering
from actors.failures import sentence
from actors.media_ports import Painter
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.turns import Answered, Turn
from memory.drawing import alt_text, checked_description, described, drawing_prompt, find_svg, second_prompt
from memory.errors import DavenportError, MediaFailed, ModelError, PaintingFailed, Refused
from memory.events import JournalState
from memory.media import Attachment, Picture
from memory.model import Prompt, Reply, ToolCall, ToolResult, Usage
from memory.words import NOTHING
from texts.catalogue import Speaker

log = logging.getLogger(__name__)

_EXTENSIONS = {"image/png": "png", "image/jpeg": "jpg"}

Cause = Refused | ModelError | MediaFailed


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture with what is to be seen in it, and what it cost."""

    picture: Picture
    alt: str
    usage: tuple[Usage, ...] = ()

    def file(self, name: str = "drawing") -> Attachment:
        """Return the picture as a file to send. name: without its extension."""
        media_type = self.picture.media_type
        full = f"{name}.{_EXTENSIONS.get(media_type, 'png')}"
        return Attachment(full, media_type, self.picture.data, picture=self.picture.info, alt=self.alt)


class NotDrawn(DavenportError):
    """There is no picture. cause: what was raised, with the sentence for people in a Refused; usage: what it cost."""

    def __init__(self, cause: Cause, usage: Iterable[Usage] = ()) -> None:
        """`usage`: of all calls, those of a ModelError included."""
        super().__init__(str(cause))
        self.cause = cause
        self.usage = tuple(usage)


class Drawer:
    """Draws by the language model, as SVG, or by a painter where one is configured; holds nothing between drawings."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def draw(self, description: str, alt: str = "") -> Drawn:
        """Draw what a description says, at most 2,000 characters. The day's budget is checked before each model call.

        alt: the alternative text of one that says nothing of itself; "": the description. An SVG that is refused, or
        cut off, is asked for once more with the reason. Raises NotDrawn.
        """
        usage: list[Usage] = []
        try:
            wanted = checked_description(description)
            painter = self._parts.painter
            drawn = await (self._sketched(wanted, usage) if painter is None else self._painted(wanted, painter))
        except ModelError as error:
            raise NotDrawn(error, (*usage, *error.usage)) from error
        except (Refused, MediaFailed) as error:
            raise NotDrawn(error, usage) from error
        return drawn if drawn.alt else replace(drawn, alt=described(alt or description))

    async def _painted(self, description: str, painter: Painter) -> Drawn:
        painted = await painter.paint(description)
        try:
            picture = await self._parts.media.picture(painted)
        except Refused as error:  # no file of the person's, so no word to them about one
            raise PaintingFailed(f"what the painter sent cannot be used ({error.text_id})") from error
        return Drawn(picture, "")

    async def _sketched(self, description: str, usage: list[Usage]) -> Drawn:
        first = await self._asked(drawing_prompt(description), usage)
        try:
            return await self._rasterised(first, usage)
        except Refused as refusal:
            if refusal.text_id == "draw-nothing":  # it did not try: it says why it will not, or cannot
                raise
            log.info("a drawing is asked for once more: %s", refusal)
            reason = Speaker(prefix=self._parts.dispatcher.prefix).refusal(refusal)
        second = await self._asked(second_prompt(description, first.text, reason), usage)
        return await self._rasterised(second, usage)

    async def _asked(self, prompt: Prompt, usage: list[Usage]) -> Reply:
        await self._parts.spending.check(self._parts.store, self._parts.clock.today())
        reply = await self._parts.model.reply(prompt, (), no_tool)
        usage += reply.usage
        return reply

    async def _rasterised(self, reply: Reply, usage: Iterable[Usage]) -> Drawn:
        svg = find_svg(reply.text)
        if svg is None:
            raise Refused("draw-nothing")
        return Drawn(await self._parts.media.rasterise(svg), alt_text(svg, ""), tuple(usage))


class DrawRunner:
    """Runs turns of `!draw`; holds nothing between them. A turn taken up again after a restart draws anew."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system
        self._drawer = Drawer(parts)

    async def run(self, turn: Turn) -> Answered | None:
        """Answer with a picture and no words. None: there is none; a sentence said why."""
        event = turn.entry.incoming
        try:
            async with turn.typing:
                drawn = await self._drawer.draw(turn.said)
        except NotDrawn as failure:
            log.warning("no drawing for %s: %s", event.event_id, failure)
            await self._fail(turn, failure)
            return None
        return await self._answer(turn, drawn)

    async def _answer(self, turn: Turn, drawn: Drawn) -> Answered:
        event, now = turn.entry.incoming, self._parts.clock.now()
        said = Said("", files=[drawn.file()], alone=event.private)
        async with answering(self._parts, self._system, event, said) as tables:
            await tables.journal.answered_apart(event.event_id, turn.kind, now)
            recorded = await self._parts.spending.of_reply(tables, event, drawn.usage, now, "draw")
        self._parts.spending.committed(recorded)
        log.info("drawn", extra={"event_id": event.event_id, "model_calls": len(drawn.usage)})
        # Learned, not answered: so no window takes it in, and no extraction follows.
        entry = replace(turn.entry, state=JournalState.LEARNED, answered_at=now, turn=turn.kind)
        return Answered(entry, turn.members, NOTHING)

    async def _fail(self, turn: Turn, failure: NotDrawn) -> None:
        event, now = turn.entry.incoming, self._parts.clock.now()
        told = sentence(self._parts.speaker(event.room_id), failure.cause)
        said = Said(told, notice=True, alone=event.private)
        async with answering(self._parts, self._system, event, said) as tables:
            await tables.journal.finish(event.event_id, JournalState.FAILED)
            recorded = await self._parts.spending.of_reply(tables, event, failure.usage, now, "draw")
        self._parts.spending.committed(recorded)


async def no_tool(call: ToolCall) -> ToolResult:
    """Refuse what was not offered, where the model is given no tools. Raises ModelError."""
    raise ModelError(f"the model called a tool that was not offered ({call.number})")
