"""Settings in force now, as the actors and commands ask for them (actors.ports.SettingsSource)."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeVar

from davenport.settings import RoomSettings, Settings
from davenport.settings_kinds import kinds_of
from davenport.settings_personas import DEFAULT, lowered
from davenport.settings_section import Section
from memory.quota import CommandQuota
from memory.settings import ContextSettings, KindSettings, MemorySettings
from memory.types import Persona

Each = TypeVar("Each", bound=Section)


@dataclass(frozen=True, slots=True)
class _InForce:
    """What holds in one room, or in every room without settings of its own."""

    memory: MemorySettings
    context: ContextSettings
    kinds: KindSettings
    language: str
    welcome: bool


class ConfiguredSettings:
    """The settings of config.toml and the environment; what a room has of its own goes over both.

    embedder_threshold: the similarity measured for the embedder in use, None where there is none (D13).
    """

    def __init__(self, settings: Settings, *, embedder_threshold: float | None) -> None:
        self._threshold = embedder_threshold
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Put other settings in force: a pass or turn that has begun keeps what it read (P5)."""
        self._admins = settings.matrix.admins
        self._enforces = settings.limits.enforce
        self._everywhere = self._in_force(settings, RoomSettings())
        self._rooms = {room_id: self._in_force(settings, own) for room_id, own in settings.rooms.items()}
        self._personas = {name: own.persona(name) for name, own in settings.personas.items()}
        self._quotas = {command: own.quota(command) for command, own in settings.limits.quotas.items()}

    def memory(self, room_id: str) -> MemorySettings:
        """Return the memory settings for one room's traffic."""
        return self._at(room_id).memory

    def context(self, room_id: str) -> ContextSettings:
        """Return the window settings for one room."""
        return self._at(room_id).context

    def kinds(self, room_id: str) -> KindSettings:
        """Return what holds for the kinds of turn, pictures and documents in one room."""
        return self._at(room_id).kinds

    def language(self, room_id: str) -> str:
        """Return the language of the bot's own sentences in one room."""
        return self._at(room_id).language

    def welcome(self, room_id: str) -> bool:
        """Whether the bot introduces itself on coming into this room."""
        return self._at(room_id).welcome

    def persona(self, name: str) -> Persona:
        """Return the persona of that name, or `default` where it no longer exists."""
        return self._personas.get(lowered(name)) or self._personas.get(DEFAULT) or Persona()

    def personas(self) -> tuple[str, ...]:
        """Return the names of the configured personas, `default` first."""
        return (DEFAULT, *(name for name in self._personas if name != DEFAULT))

    def admin(self, user_id: str) -> bool:
        """Whether `matrix.admins` names this user."""
        return any(fnmatchcase(user_id, pattern) for pattern in self._admins)

    def quota(self, command: str) -> CommandQuota | None:
        """Return how often a command may be given by `limits.quotas`; None: nothing is set, its default holds."""
        return self._quotas.get(command)

    def enforces_limits(self) -> bool:
        """Whether a quota that is used up refuses; otherwise it is only logged."""
        return self._enforces

    def _at(self, room_id: str) -> _InForce:
        return self._rooms.get(room_id, self._everywhere)

    def _in_force(self, settings: Settings, own: RoomSettings) -> _InForce:
        bot = _over(settings.bot, own.bot)
        memory = _over(settings.memory, own.memory)
        return _InForce(
            memory.rules(self._threshold),
            _over(settings.context, own.context).window(),
            kinds_of(
                _over(settings.code, own.code),
                _over(settings.verse, own.verse),
                _over(settings.draw, own.draw),
                _over(settings.story, own.story),
                _over(settings.pictures, own.pictures),
                _over(settings.documents, own.documents),
            ),
            bot.language,
            bot.welcome,
        )


def _over(general: Each, own: Each) -> Each:
    """Return a section with what a room set itself in place of what holds for all."""
    return general.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
