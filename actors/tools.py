"""What the model may do during a turn: every effect goes through the actor that owns the list, once per call."""

from __future__ import annotations

from datetime import datetime

from actors.actor import Address
from actors.messages import EffectKey, SaveMemory
from actors.parts import Parts
from actors.runtime import ActorSystem
from llm.tools import SAVE_MEMORY, SaveMemoryArguments, no_such_tool, save_memory_arguments
from memory.errors import Refused
from memory.events import Incoming
from memory.model import ToolCall, ToolResult
from memory.settings import MemorySettings
from memory.types import Conversation, Draft, Origin, ScopeKind, Source

TOOLS = (SAVE_MEMORY,)


class Toolbox:
    """Runs the tool calls of one turn."""

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
    ) -> None:
        """`shown`: ids of the asker's own memories in this prompt."""
        self._parts = parts
        self._system = system
        self._event = event
        self._conversation = conversation
        self._settings = settings
        self._now = now
        self._shown = shown

    async def run(self, call: ToolCall) -> ToolResult:
        """Carry out one call. Wrong arguments and refusals are error results and never had an effect (P16).

        The model hands a refusal on to the person, so it is in the language of the room; the rest is for the model.
        """
        if call.name != SAVE_MEMORY.name:
            return no_such_tool(call.name)
        try:
            arguments = save_memory_arguments(call.arguments)
            if isinstance(arguments, ToolResult):
                return arguments
            return ToolResult(await self._save(arguments, EffectKey(self._event.event_id, call.number)))
        except Refused as refusal:
            return ToolResult(self._parts.speaker(self._event.room_id).refusal(refusal), is_error=True)

    async def _save(self, arguments: SaveMemoryArguments, effect: EffectKey) -> str:
        for_room = arguments.scope == "room"
        event = self._event
        if for_room and not self._parts.matrix.can_write_state(event.room_id, event.sender):
            raise Refused("room-save-forbidden")
        draft = Draft(
            scope=ScopeKind.ROOM if for_room else ScopeKind.PERSONAL,
            scope_id=event.room_id if for_room else event.sender,
            persona=self._conversation.persona,
            text=arguments.text,
            source=Source.TOOL,
            origin=Origin(event.room_id, event.event_id, event.direct),
            first_seen=self._now,
        )
        owner = Address("room", event.room_id) if for_room else Address("user", event.sender)
        return await self._system.ask(owner, SaveMemory(draft, self._conversation, self._settings, effect, self._now))
