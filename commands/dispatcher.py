"""The command table as the room actor sees it (memory.events.Dispatcher)."""

from __future__ import annotations

from actors.media_ports import Media
from actors.ports import Embedder, SettingsSource
from commands import (
    adding,
    cleaning,
    documents,
    memories,
    memories_room,
    persona,
    privacy,
    texts,
    transfer,
    usage,
    verse,
    why,
)
from commands import config as config_command
from commands import help as help_command
from commands.order import Handlers, Order
from commands.parse import Call, parse
from commands.ports import Configuring, Files, System
from commands.quotas import limit_of, name_of
from commands.scene_values import EndScene
from commands.table import DEFAULT_PREFIX, TABLE, Table
from commands.values import Misused, StartTurn, Unknown
from memory.events import Caller, Recognised, Told
from memory.quota import Limit
from texts.catalogue import Speaker

HANDLERS = Handlers(
    config_command.handlers,
    help_command.handlers,
    adding.handlers,
    cleaning.handlers,
    documents.handlers,
    memories.handlers,
    memories_room.handlers,
    privacy.handlers,
    persona.handlers,
    transfer.handlers,
    usage.handlers,
    verse.handlers,
    why.handlers,
)


class CommandDispatcher:
    """Recognises commands and carries them out; holds nothing but the prefix.

    config: what `!config` sets with, None where nothing can be set in chat. embedder: None where none is configured.
    files: the port that fetches files people sent, None where none can be had. media: the one that reads them.
    """

    def __init__(
        self,
        system: System,
        settings: SettingsSource,
        *,
        prefix: str = DEFAULT_PREFIX,
        table: Table = TABLE,
        config: Configuring | None = None,
        embedder: Embedder | None = None,
        files: Files | None = None,
        media: Media | None = None,
    ) -> None:
        self._system = system
        self._settings = settings
        self._prefix = prefix
        self._table = table
        self._config = config
        self._embedder = embedder
        self._files = files
        self._media = media

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
        name = name_of(() if isinstance(call.value, Misused) else call.path)
        if isinstance(call.value, StartTurn):
            return Recognised(turn=call.value.kind, text=call.value.text, name=name)
        return Recognised(command=call, name=name, ends_scene=isinstance(call.value, EndScene))

    def limit(self, name: str) -> Limit:
        """Return what a try of this command counts against: `limits.quotas`, else the table, else DEFAULT."""
        return limit_of(name, self._table, self._settings.quota)

    async def run(self, command: object, caller: Caller) -> Told:
        """Carry out what `recognise` gave and answer in the language of the room. Raises Refused."""
        if not isinstance(command, Call):
            raise TypeError(f"not a command of this table: {type(command).__name__}")
        say = Speaker(self._settings.language(caller.conversation.room_id), prefix=self._prefix)
        for row in command.path:
            if not row.who.allows(caller):
                raise texts.not_allowed(say, row)
        match command.value:
            case Misused():
                raise texts.misused(command.path, self._prefix)
            case Unknown(word):
                raise texts.unknown(say, word)
            case value:
                order = Order(
                    say,
                    caller,
                    self._system,
                    self._settings,
                    self._config,
                    self._table,
                    command.path,
                    self._prefix,
                    self._embedder,
                    self._files,
                    self._media,
                )
                told = await HANDLERS.of(value)(value, order)
                return told if isinstance(told, Told) else Told(told)
