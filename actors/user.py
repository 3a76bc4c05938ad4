"""One actor per Matrix user: owns the user's lists and candidates, and runs the user's passes in turn order (P20)."""

from __future__ import annotations

from actors import scenes
from actors.context_messages import LeftContext, ReadPrivacy, SetPrivacy
from actors.costs import UsageOf, costs_of
from actors.messages import (
    ClearMemories,
    EffectKey,
    PassAnswered,
    TakenBack,
    TurnBegan,
    TurnOver,
)
from actors.owner import ListOwner
from actors.parts import Parts
from actors.passes import PassQueue
from actors.privacy import set_level, tell_rooms
from actors.runtime import Context
from actors.scenes import CloseScene, OpenScene, ReadScene
from actors.transfer import ExportMemories, FindImport, ImportMemories, Transfer
from actors.why import WhyLast, explain
from memory.types import Privacy, ScopeKind
from memory.undo import Taken


class UserActor(ListOwner):
    """Serialises everything that changes one user's memories and candidates."""

    kind = ScopeKind.PERSONAL

    def __init__(self, context: Context, parts: Parts) -> None:
        super().__init__(context, parts)
        self.user_id = context.address.name
        self._passes = PassQueue(
            self.user_id, parts, self.lists, context.spawn, lambda: self.privacy, self.cleaning.promoted
        )
        self._transfer = Transfer(self.user_id, parts, self.lists, lambda: self.privacy)

    async def load(self) -> None:
        """Read the privacy level, and take up the passes that an earlier run or instance left undone."""
        async with self.parts.store.transaction() as tables:
            self.privacy = await tables.users.privacy(self.user_id)
        await self._passes.load()

    async def handle(self, message: object) -> object | None:
        """Dispatch one message; see actors/messages.py for what each means."""
        match message:
            case ClearMemories(effect):
                return await self._clear(effect)
            case ReadPrivacy():
                return self.privacy
            case SetPrivacy():
                await self._set_privacy(message)
            case WhyLast():
                return await explain(self.parts, self.user_id, self.privacy, message)
            case OpenScene() | CloseScene() | ReadScene():
                return await scenes.answer(self.user_id, message, self.parts)
            case UsageOf():
                return await costs_of(self.parts, self.user_id, message)
            case ExportMemories() | FindImport() | ImportMemories():
                return await self._transfer.answer(message)
            case TurnBegan(seq, event_id):
                self._passes.began(seq, event_id)
            case TurnOver(seq, event_id, exchange):
                await self._passes.over(seq, event_id, exchange)
            case PassAnswered():
                await self._passes.answered(message)
            case TakenBack(event_id):
                await self._take_back(event_id)
            case _:
                return await super().handle(message)
        return None

    async def _clear(self, effect: EffectKey) -> int:
        async with self.parts.store.transaction() as tables:
            recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return int(recorded)
            ids = [memory.id for memory in await tables.memories.of_user(self.user_id)]
            if ids:
                taken = Taken(await tables.undo.as_they_are(ids))
                await tables.memories.delete(ids)
                await tables.undo.keep(self.user_id, effect.event_id, self.parts.clock.now(), taken)
            await tables.effects.record(effect.event_id, effect.call, str(len(ids)))
            through = await tables.users.forget_through(self.user_id, effect.event_id)
        self.lists.drop(ids)
        self.parts.metrics.memories("deleted", len(ids))
        await self._passes.forget_through(through)
        return len(ids)

    async def _set_privacy(self, request: SetPrivacy) -> None:
        through = await set_level(self.user_id, request, self.parts)
        if through is None:
            return
        self.privacy = request.level
        await self._passes.forget_through(through)
        if self.privacy is Privacy.SILENT:
            self.context.spawn(tell_rooms(self.context.system, LeftContext(self.user_id, through, silent=True)))

    async def _take_back(self, event_id: str) -> None:
        async with self.parts.store.transaction() as tables:
            apart = await tables.memories.take_apart(event_id)
            _, deleted = await tables.candidates.take_back(event_id)
            await tables.undo.forget_event(self.user_id, event_id)
        self.lists.drop((*apart.gone, *deleted))
        await self.lists.revise(kept.memory for kept in apart.back)
        await self._passes.drop(event_id)
