"""What the model may do during a turn: every effect goes through the actor that owns the list, once per call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from actors.actor import Address
from actors.confirming import Confirmation, forgotten_notice, notice, refusal_notice
from actors.messages import DeleteMemories, EffectKey, SaveMemory
from actors.parts import Parts
from actors.rights import changes_list
from actors.runtime import ActorSystem
from actors.saving import is_saved, read_saved, refuse_unless_learnable, vector_of
from llm.tools import (
    FORGET_MEMORY,
    SAVE_MEMORY,
    SaveMemoryArguments,
    forget_memory_arguments,
    no_such_tool,
    save_memory_arguments,
    was_forgotten,
    was_saved,
    was_there,
)
from memory.capacity import LIST_FULL, Saved
from memory.errors import Refused
from memory.events import Incoming
from memory.model import ToolCall, ToolResult
from memory.settings import MemorySettings
from memory.types import Conversation, Origin, Source
from memory.words import NOTHING, Heard

TOOLS = (SAVE_MEMORY, FORGET_MEMORY)


class Toolbox:
    """Runs the tool calls of one turn, and notes what the bot says of them on its own account (D12)."""

    def __init__(
        self,
        parts: Parts,
        system: ActorSystem,
        event: Incoming,
        conversation: Conversation,
        settings: MemorySettings,
        now: datetime,
        *,
        shown: frozenset[int] = frozenset(),
        searched: bool = True,
        heard: Heard = NOTHING,
    ) -> None:
        """`shown`: ids of the asker's own memories in this prompt. `searched`: False when this turn's search failed.

        `heard`: what stands in the conversation's window.
        """
        self._parts = parts
        self._system = system
        self._event = event
        self._conversation = conversation
        self._settings = settings
        self._now = now
        self._shown = shown
        self._searched = searched
        self._heard = heard
        self._say = parts.speaker(event.room_id)
        self._notices: list[Confirmation] = []

    @property
    def notices(self) -> Confirmation:
        """What the bot says of the calls so far, whatever the model makes of them."""
        return Confirmation(
            _joined(each.room for each in self._notices),
            _joined(each.private for each in self._notices),
            secret=any(each.secret for each in self._notices if each.private),
        )

    async def run(self, call: ToolCall) -> ToolResult:
        """Carry out one call. Wrong arguments and refusals are error results and never had an effect (P16).

        A call that was carried out before a crash is answered as it was then, whatever the model asks for now.
        The model hands a refusal on to the person, so it is in the language of the room; the rest is for the model.
        """
        effect = EffectKey(self._event.event_id, call.number)
        try:
            async with self._parts.store.transaction() as tables:
                recorded = await tables.effects.recorded(effect.event_id, effect.call)
            if recorded is not None:
                return await self._repeat(recorded, effect)
            match call.name:
                case SAVE_MEMORY.name:
                    return await self._save(call.arguments, effect)
                case FORGET_MEMORY.name:
                    return await self._forget(call.arguments, effect)
            return no_such_tool(call.name)
        except Refused as refusal:
            told = self._say.refusal(refusal)
            if refusal.text_id in LIST_FULL:
                self._notices.append(refusal_notice(told, self._settings.notices, private=self._conversation.private))
            return ToolResult(told, is_error=True)

    async def _repeat(self, recorded: str, effect: EffectKey) -> ToolResult:
        return self._told(read_saved(recorded)) if is_saved(recorded) else await self._delete((), effect)

    # --- save_memory ------------------------------------------------------------------------------------------------

    async def _save(self, given: Mapping[str, object], effect: EffectKey) -> ToolResult:
        arguments = save_memory_arguments(given)
        if isinstance(arguments, ToolResult):
            return arguments
        owner = await self._owner(arguments)
        # Where this turn's search failed nothing may be forgotten (D10), and the embedder is most likely what failed.
        embedder = self._parts.embedder if self._searched else None
        request = SaveMemory(
            text=arguments.text,
            source=Source.TOOL,
            origin=Origin(self._event.room_id, self._event.event_id, self._event.direct),
            conversation=self._conversation,
            settings=self._settings,
            effect=effect,
            vector=await vector_of(arguments.text, embedder, self._settings),
            searched=self._searched,
            heard=self._heard,
            now=self._now,
        )
        return self._told(await self._system.ask(owner, request))

    async def _owner(self, arguments: SaveMemoryArguments) -> Address:
        """Return whose list it is. For the room's it takes the right, and somebody who may be learned of (P16)."""
        event = self._event
        if arguments.scope == "me":
            return Address("user", event.sender)
        if not changes_list(self._parts, event.room_id, event.sender):
            raise Refused("room-save-forbidden")
        # The model could take a fact about the person for one about the room.
        async with self._parts.store.transaction() as tables:
            refuse_unless_learnable(event.sender, await tables.users.privacy(event.sender), self._settings)
        return Address("room", event.room_id)

    def _told(self, saved: Saved) -> ToolResult:
        self._notices.append(notice(self._say, saved, self._settings.notices, private=self._conversation.private))
        if not saved.new:
            return ToolResult(was_there(saved.memory.id))
        return ToolResult(was_saved(saved.memory.id, None if saved.forgotten is None else saved.forgotten.id))

    # --- forget_memory ----------------------------------------------------------------------------------------------

    async def _forget(self, given: Mapping[str, object], effect: EffectKey) -> ToolResult:
        ids = forget_memory_arguments(given, self._shown)
        return ids if isinstance(ids, ToolResult) else await self._delete(ids, effect)

    async def _delete(self, ids: tuple[int, ...], effect: EffectKey) -> ToolResult:
        deleted = await self._system.ask(Address("user", self._event.sender), DeleteMemories(ids, effect))
        if deleted.done:
            private = self._conversation.private
            self._notices.append(forgotten_notice(self._say, deleted.done, self._settings.notices, private=private))
        return was_forgotten(deleted.done, deleted.unknown)


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(dict.fromkeys(part for part in parts if part))
