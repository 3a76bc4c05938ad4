"""The command table as the room actor sees it (memory.events.Dispatcher)."""

from __future__ import annotations

from actors.ports import SettingsSource
from commands import help as help_command
from commands import memories, texts
from commands.parse import Call, parse
from commands.ports import System
from commands.table import DEFAULT_PREFIX, TABLE, Table
from commands.values import Ask, ClearMine, DeleteMine, EditMine, Help, ListMine, Misused, Unknown
from memory.events import Caller, Recognised
from memory.types import TurnKind
from texts.catalogue import Speaker


class CommandDispatcher:
    """Recognises commands and carries them out; holds nothing but the prefix."""

    def __init__(
        self, system: System, settings: SettingsSource, *, prefix: str = DEFAULT_PREFIX, table: Table = TABLE
    ) -> None:
        self._system = system
        self._settings = settings
        self._prefix = prefix
        self._table = table

    @property
    def prefix(self) -> str:
        """What commands begin with now."""
        return self._prefix

    def use_prefix(self, prefix: str) -> None:
        """Let commands begin with another prefix from the next message on."""
        self._prefix = prefix

    def recognise(self, text: str, *, meant: bool = False) -> Recognised | None:
        """Read a text; None when it is no command of ours. Pure.

        Other bots share rooms and prefixes, so an unknown word is recognised, in order to be refused with a hint, only
        where the message is `meant` for this bot: in a direct room, or after a mention.
        """
        call = parse(text, self._prefix, self._table)
        if call is None or (isinstance(call.value, Unknown) and not meant):
            return None
        if isinstance(call.value, Ask):
            return Recognised(turn=TurnKind.ASK, text=call.value.text)
        return Recognised(command=call)

    async def run(self, command: object, caller: Caller) -> str:
        """Carry out what `recognise` gave and answer in Markdown, in the language of the room. Raises Refused."""
        if not isinstance(command, Call):
            raise TypeError(f"not a command of this table: {type(command).__name__}")
        say = Speaker(self._settings.language(caller.conversation.room_id), prefix=self._prefix)
        for row in command.path:
            if not row.who.allows(caller):
                raise texts.not_allowed(say, row)
        return await self._carry_out(say, command, caller)

    async def _carry_out(self, say: Speaker, call: Call, caller: Caller) -> str:
        settings = self._settings.memory(caller.conversation.room_id)
        match call.value:
            case Help() as command:
                return help_command.show(say, command, self._table, self._prefix)
            case ListMine():
                return await memories.show(say, caller, self._system, settings)
            case DeleteMine() as command:
                return await memories.delete(say, command, caller, self._system)
            case EditMine() as command:
                return await memories.edit(say, command, caller, self._system)
            case ClearMine():
                return await memories.clear(say, caller, self._system, settings)
            case Misused():
                raise texts.misused(call.path, self._prefix)
            case Unknown(word):
                raise texts.unknown(say, word)
            case Ask():
                raise TypeError("a turn is taken by the room, not carried out as a command")
