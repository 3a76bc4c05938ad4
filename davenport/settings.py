"""Every setting: its type, default, bounds, scope and one line of help, stated once.

A key's `json_schema_extra` may hold: `allowed`, what may be given in words; `example`, the placeholder in config.toml;
`scope`, "room" where rooms may differ, else it is "global"; `admins`, where in chat only admins may set it for a room;
`live`, where it departs from its section's `live`.

config.toml, docs/settings.md and the messages about faults are all made from what stands here. `settings_load` reads
a file and the environment into these values.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from davenport.settings_kinds import (
    CodeSection,
    DocumentsSection,
    DrawSection,
    PicturesSection,
    StorySection,
    VerseSection,
)
from davenport.settings_limits import LimitsSection
from davenport.settings_model import EmbeddingsSection, LlmSection
from davenport.settings_personas import Personas
from davenport.settings_rules import ContextSection, MemorySection
from davenport.settings_section import (
    AN_ADDRESS,
    HELD_IN_FILE,
    PLACEHOLDER,
    Address,
    SecretFile,
    Section,
    UsablePath,
    names_somebody,
    of_room,
)
from texts.catalogue import SOURCE, languages

_OF_A_SERVER = re.compile(r"@[^:\s]+:\S+")


class MatrixSection(Section):
    """The bot's account."""

    homeserver: Address = Field(
        description="Where the homeserver's client API is reached.",
        json_schema_extra={"allowed": AN_ADDRESS, "example": f"https://{PLACEHOLDER}"},
    )
    user_id: str = Field(
        pattern=r"^@[^:\s]+:\S+$",
        description="The Matrix user id of the bot.",
        json_schema_extra={"allowed": "a user id such as @davenport:example.org", "example": f"@{PLACEHOLDER}"},
    )
    password: SecretStr | None = Field(
        default=None,
        description="The password of that account, for the first login; later starts use the stored token and device.",
        json_schema_extra={"allowed": "the password", "example": PLACEHOLDER},
    )
    password_file: SecretFile = Field(
        default=None,
        description="A file that holds the password instead.",
        json_schema_extra={"allowed": HELD_IN_FILE},
    )
    display_name: str = Field(
        default="",
        max_length=100,
        description="The name the bot sets for itself; empty leaves the one it has.",
        json_schema_extra={"allowed": "a text of at most 100 characters"},
    )
    command_prefix: str = Field(
        default="!",
        pattern=r"^[^\s`]{0,15}[^\s`\w]$",
        description="What commands begin with. Choose another where a second bot in the same rooms uses this one.",
        json_schema_extra={
            "allowed": "1 to 16 characters without white space or backtick, the last not a letter, digit or _",
            "live": True,
        },
    )
    admins: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(),
        description="Users who may set settings in chat and whom no quota limits; * stands for anything.",
        json_schema_extra={
            "allowed": 'a list of user ids or patterns with a server, such as "@*:example.org"',
            "live": True,
        },
    )
    ignore_users: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(),
        description="Users the bot never answers, such as bridged ghosts; * stands for anything.",
        json_schema_extra={"allowed": 'a list of user ids or patterns such as "@irc_*:example.org"', "live": True},
    )

    @field_validator("admins")
    @classmethod
    def _of_known_servers(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse a pattern without a server: anybody may be called anything at a server of their own."""
        if not all(_OF_A_SERVER.fullmatch(pattern) for pattern in value):
            raise PydanticCustomError("names_nobody", "names nobody, or people of any server")
        return value

    @field_validator("ignore_users")
    @classmethod
    def _names_users(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return names_somebody(value, kinds="@")


class BotSection(Section):
    """How the bot speaks to people."""

    live: ClassVar[bool] = True
    language: str = Field(
        default=SOURCE,
        description="The language of what the bot says on its own account, such as answers to commands and failures. "
        "The model answers in the language it is spoken to; names of commands stay English.",
        json_schema_extra={"allowed": " or ".join(f'"{each}"' for each in languages()), "scope": "room"},
    )
    welcome: bool = Field(
        default=True,
        description="On coming into a room, say once that the bot remembers, and how to see, stop and delete that.",
    )

    @field_validator("language")
    @classmethod
    def _has_texts(cls, value: str) -> str:
        if value not in languages():
            raise PydanticCustomError("no_texts", "no texts")
        return value


class JournalSection(Section):
    """What came in, kept so that nothing is lost or answered twice."""

    live: ClassVar[bool] = True
    retention_days: int = Field(
        default=7,
        ge=1,
        le=3650,
        description="Days for which the texts of answered messages are kept; longer where context.timeout_minutes is.",
    )
    event_ids_days: int = Field(
        default=30,
        ge=1,
        le=3650,
        description="Days for which id, room, sender and time are kept of events that nothing was done on. What the "
        "bot acted on keeps them for good, so that it never does so twice.",
    )
    usage_days: int = Field(
        default=400, ge=31, le=3650, description="Days for which it is kept what each call of the model took."
    )


class StorageSection(Section):
    """Where everything is kept."""

    data_dir: UsablePath = Field(
        default=Path("data"),
        description="Folder of the database and the encryption keys; relative to config.toml.",
        json_schema_extra={"allowed": "the path of a folder"},
    )


class HttpSection(Section):
    """Health and metrics over HTTP: /healthz, /readyz and /metrics, for a supervisor and for Prometheus."""

    enabled: bool = Field(
        default=False,
        description="Open the port. Off by default: whoever reaches it may read the metrics, no password is asked for.",
    )
    host: str = Field(
        default="127.0.0.1",
        description="The address to listen at. Any but a loopback address lets other machines read the metrics.",
        json_schema_extra={"allowed": "an IP address"},
    )
    port: int = Field(default=9708, ge=0, le=65_535, description="The port; 0 takes a free one and logs it.")

    @field_validator("host")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        ip_address(value)
        return value


class LogSection(Section):
    """What operators read."""

    live: ClassVar[bool] = True
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least serious record that is written."
    )
    format: Literal["text", "json"] = Field(default="text", description="One line a record, for people or programs.")


class RoomSettings(BaseModel):
    """What one room has of its own: keys of the scope "room", by their names elsewhere. What is not set here holds as
    it does for all rooms.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    bot: BotSection = BotSection()
    memory: MemorySection = MemorySection()
    context: ContextSection = ContextSection()
    code: CodeSection = CodeSection()
    verse: VerseSection = VerseSection()
    draw: DrawSection = DrawSection()
    story: StorySection = StorySection()
    pictures: PicturesSection = PicturesSection()
    documents: DocumentsSection = DocumentsSection()

    @model_validator(mode="after")
    def _holds_for_rooms(self) -> Self:
        for name, section in self:
            wrong = sorted(key for key in section.model_fields_set if not of_room(type(section).model_fields[key]))
            if wrong:
                raise PydanticCustomError("not_of_room", "{keys}", {"keys": ", ".join(f"{name}.{w}" for w in wrong)})
        return self


RoomId = Annotated[str, Field(pattern=r"^![^\s]+$")]  # rooms of version 12 have no server in their id


class Settings(BaseSettings):
    """All settings; one attribute for each section of config.toml, beside them what rooms have of their own by room id,
    and personas by name. Reads nothing by itself.
    """

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    matrix: MatrixSection
    bot: BotSection = BotSection()
    llm: LlmSection = LlmSection()
    memory: MemorySection = MemorySection()
    context: ContextSection = ContextSection()
    embeddings: EmbeddingsSection = EmbeddingsSection()
    code: CodeSection = CodeSection()
    verse: VerseSection = VerseSection()
    draw: DrawSection = DrawSection()
    story: StorySection = StorySection()
    pictures: PicturesSection = PicturesSection()
    documents: DocumentsSection = DocumentsSection()
    journal: JournalSection = JournalSection()
    storage: StorageSection = StorageSection()
    limits: LimitsSection = LimitsSection()
    http: HttpSection = HttpSection()
    log: LogSection = LogSection()
    rooms: dict[RoomId, RoomSettings] = {}
    personas: Personas = {}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is given and nothing else; `settings_load` adds the environment."""
        return (init_settings,)

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must never be written to a log."""
        values = [value for _, section in self if isinstance(section, Section) for _, value in section]
        return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))
