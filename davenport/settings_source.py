"""Settings in force now, as the actors and commands ask for them (actors.ports.SettingsSource)."""

from __future__ import annotations

from davenport.settings import Settings
from memory.settings import ContextSettings, MemorySettings
from memory.types import Persona


class ConfiguredSettings:
    """The settings of config.toml and the environment, the same for every room.

    embedder_threshold: the similarity measured for the embedder in use, None where there is none (D13).
    """

    def __init__(self, settings: Settings, *, embedder_threshold: float | None) -> None:
        self._threshold = embedder_threshold
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Put other settings in force: a pass or turn that has begun keeps what it read (P5)."""
        self._memory = settings.memory.rules(self._threshold)
        self._context = settings.context.window()
        self._bot = settings.bot

    def memory(self, room_id: str) -> MemorySettings:
        """Return the memory settings for one room's traffic."""
        return self._memory

    def context(self, room_id: str) -> ContextSettings:
        """Return the window settings for one room."""
        return self._context

    def language(self, room_id: str) -> str:
        """Return the language of the bot's own sentences in one room."""
        return self._bot.language

    def welcome(self, room_id: str) -> bool:
        """Whether the bot introduces itself on coming into this room."""
        return self._bot.welcome

    def persona(self, name: str) -> Persona:
        """Return the persona of that name, or `default` where it no longer exists."""
        return Persona()
