"""`!story`: a story is planned, and then told part by part in a thread, with pictures; a line says how far it is.

It uses no memories, searches nothing and teaches nothing (RULES.md, Words): what is asked for is all the model is
given, nothing of it enters a conversation window, and no extraction follows.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from actors.drawing import Drawer, NotDrawn, no_tool
from actors.failures import sentence
from actors.parts import Parts
from actors.runtime import ActorSystem
from actors.story_thread import StoryThread, TakenBack
from actors.turns import Answered, Turn
from memory.errors import BudgetSpent, DavenportError, ModelError, Refused
from memory.events import Incoming, JournalState
from memory.model import Prompt, Reply, Usage
from memory.settings import KindSettings
from memory.story import (
    PLAN_CALL,
    Step,
    StoryPlan,
    StoryRequest,
    checked_request,
    drawing_of,
    part_prompt,
    read_plan,
    steps,
    stored_plan,
)
from memory.text import blank, visible
from memory.words import NOTHING
from texts.markdown import escape

log = logging.getLogger(__name__)


class _CutShort(DavenportError):
    """The telling ends before its end. reason: a sentence for people; usage: of calls that brought nothing."""

    def __init__(self, reason: str, usage: Iterable[Usage] = ()) -> None:
        super().__init__()
        self.reason = reason
        self.usage = tuple(usage)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part as it was told. cut: it reached the length limit."""

    text: str
    cut: bool = False


@dataclass(slots=True)
class _Told:
    """How far a story is: the texts of its parts, and how many pictures it has and lacks."""

    texts: list[str] = field(default_factory=list)
    drawn: int = 0
    undrawn: int = 0


class StoryRunner:
    """Runs turns of `!story`; holds nothing between them. A turn taken up again goes on where it was."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system

    async def run(self, turn: Turn) -> Answered | None:
        """Tell a story. None: there is nothing of it; a sentence said why, or it was taken back."""
        event = turn.entry.incoming
        try:
            told = await _Telling(self._parts, self._system, turn).run()
        except TakenBack:
            await say_stopped(self._parts, self._system, event)
            return None
        if not told:
            return None
        # Learned, not answered: so no window takes it in, and no extraction follows.
        entry = replace(turn.entry, state=JournalState.LEARNED, answered_at=self._parts.clock.now(), turn=turn.kind)
        return Answered(entry, turn.members, NOTHING)


async def say_stopped(parts: Parts, system: ActorSystem, event: Incoming) -> None:
    """Say that a story goes no further, since its command or a part was redacted: else its line would wait for ever."""
    log.info("a story was taken back", extra={"event_id": event.event_id})
    await StoryThread(parts, system, event).stopped(parts.speaker(event.room_id)("story-stopped"))


class _Telling:
    """One story being told."""

    def __init__(self, parts: Parts, system: ActorSystem, turn: Turn) -> None:
        self._parts = parts
        self._turn = turn
        self._event = turn.entry.incoming
        self._say = parts.speaker(self._event.room_id)
        self._drawer = Drawer(parts)
        self._thread = StoryThread(parts, system, self._event)
        self._told = _Told()

    @property
    def _settings(self) -> KindSettings:
        """As they are now: a story takes minutes."""
        return self._parts.settings.kinds(self._event.room_id)

    async def run(self) -> bool:
        """Plan and tell. Return whether at least one part was told. Raises TakenBack."""
        try:
            request = checked_request(self._turn.said, self._settings)
        except Refused as refusal:
            await self._thread.refuse(self._say.refusal(refusal))
            return False
        await self._thread.begin(self._say("story-planning"))
        plan = None
        try:
            plan = await self._plan(request)
            await self._tell(request, plan)
        except _CutShort as cut:
            return await self._cut(plan, cut)
        line, named = await self._summary(plan)
        await self._thread.end(line, told=True, named=named)
        log.info("a story was told", extra={"event_id": self._event.event_id, "parts": len(self._told.texts)})
        return True

    async def _plan(self, request: StoryRequest) -> StoryPlan:
        stored = await self._thread.recorded(PLAN_CALL)
        if stored is not None:
            return read_plan(stored)
        await self._stop_if_unwanted()
        try:
            await self._parts.spending.check(self._parts.store, self._parts.clock.today())
            async with self._turn.typing:
                plan, usage = await self._parts.model.plan_story(request)
        except ModelError as error:
            raise self._failed(error) from error
        await self._thread.step(PLAN_CALL, stored_plan(plan), line=self._progress(plan, Step(1)), usage=(usage,))
        return plan

    async def _tell(self, request: StoryRequest, plan: StoryPlan) -> None:
        to_take = steps(plan)
        for step, following in zip(to_take, (*to_take[1:], None), strict=True):
            line = None if following is None else self._progress(plan, following)
            stored = await self._thread.recorded(step.call)
            if stored is None:
                await self._stop_if_unwanted()
            if step.picture:
                drawn = await self._draw(plan, step, line) if stored is None else bool(stored["drawn"])
                self._told.drawn += drawn
                self._told.undrawn += not drawn
                continue
            part = await self._write(request, plan, step, line) if stored is None else _Part(**stored)
            self._told.texts.append(part.text)
            if part.cut:
                raise _CutShort(self._say("story-cut-length"))

    async def _write(self, request: StoryRequest, plan: StoryPlan, step: Step, line: str | None) -> _Part:
        reply = await self._asked(part_prompt(request, plan, step.part, self._told.texts))
        part = _Part(visible(reply.text).strip(), reply.cut)
        markdown = f"{_heading(plan, step.part)}\n\n{part.text}"
        await self._thread.step(
            step.call, asdict(part), line=line, markdown=markdown, quiet=step.part > 1, usage=reply.usage
        )
        return part

    async def _asked(self, prompt: Prompt) -> Reply:
        try:
            await self._parts.spending.check(self._parts.store, self._parts.clock.today())
            async with self._turn.typing:
                reply = await self._parts.model.reply(prompt, (), no_tool)
            if blank(visible(reply.text)):
                raise ModelError("the model answered with nothing that can be seen", reply.usage)
        except ModelError as error:
            raise self._failed(error) from error
        return reply

    async def _draw(self, plan: StoryPlan, step: Step, line: str | None) -> bool:
        """Draw a picture; one that fails is left out, and the end says so. Return whether there is one."""
        try:
            if not self._settings.draw_enabled:  # since the story was planned
                raise NotDrawn(Refused("draw-off"))
            async with self._turn.typing:
                shown = plan.parts[step.part - 1].picture  # in the story's language, unlike what is said around it
                drawn = await self._drawer.draw(drawing_of(plan, step.part), alt=shown)
        except NotDrawn as failure:
            log.warning("no picture %d for %s: %s", step.picture, self._event.event_id, failure)
            await self._thread.step(step.call, {"drawn": False}, line=line, usage=failure.usage)
            return False
        files = [drawn.file(f"picture-{step.picture}")]
        await self._thread.step(step.call, {"drawn": True}, line=line, files=files, quiet=True, usage=drawn.usage)
        return True

    async def _stop_if_unwanted(self) -> None:
        """End where stories were switched off meanwhile, or another came in. Raises _CutShort."""
        if not self._settings.story_enabled:
            raise _CutShort(self._say("story-off"))
        if await self._thread.alone_no_more():
            raise _CutShort(self._say("story-not-alone"))

    def _failed(self, error: ModelError) -> _CutShort:
        log.warning("the story of %s goes no further: %s", self._event.event_id, error)
        if not self._told.texts:
            return _CutShort(sentence(self._say, error), error.usage)
        return _CutShort(
            self._say("story-cut-budget" if isinstance(error, BudgetSpent) else "story-cut-model"), error.usage
        )

    async def _cut(self, plan: StoryPlan | None, cut: _CutShort) -> bool:
        told = len(self._told.texts)
        if plan is None or not told:
            await self._thread.end(cut.reason, told=False, usage=cut.usage)
            return False
        note = self._say("story-cut", number=told, total=len(plan.parts), reason=cut.reason)
        line, named = await self._summary(plan)
        await self._thread.end(f"{line} {note}", told=True, named=named, note=note, usage=cut.usage)
        log.info("a story was cut short", extra={"event_id": self._event.event_id, "parts": told})
        return True

    def _progress(self, plan: StoryPlan, step: Step) -> str:
        """Say what is done now: numbers alone, nothing of the story."""
        if step.picture:
            return self._say("story-drawing", number=step.picture, total=plan.pictures)
        return self._say("story-writing", number=step.part, total=len(plan.parts))

    async def _summary(self, plan: StoryPlan) -> tuple[str, bool]:
        """Return what was told, and whether its title is said: not where others see the line of a private one (D8)."""
        told, named = self._told, not await self._thread.alone_no_more()
        title = escape(plan.title) if named else self._say("story-untitled")
        sentences = [self._say("story-told", title=title, n=len(told.texts))]
        if told.drawn:
            sentences.append(self._say("story-pictures", n=told.drawn))
        if told.undrawn:
            sentences.append(self._say("story-pictures-missing", n=told.undrawn))
        return " ".join(sentences), named


def _heading(plan: StoryPlan, part: int) -> str:
    """Return what stands over a part: over the first the title too; a story of one part has no headings."""
    title = [f"## {escape(plan.title)}"] if part == 1 else []
    heading = [f"### {escape(plan.parts[part - 1].heading)}"] if len(plan.parts) > 1 else []
    return "\n\n".join(title + heading)
