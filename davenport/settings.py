"""Every setting: its type, default, bounds, scope and one line of help, stated once.

A key's `json_schema_extra` may hold: `allowed`, what may be given in words; `example`, the placeholder in config.toml;
`scope`, "room" where rooms may differ, else it is "global"; `live`, where it departs from its section's `live`.

config.toml, docs/settings.md and the messages about faults are all made from what stands here. `settings_load` reads
a file and the environment into these values.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from index.settings import EmbeddingSettings
from llm.settings import LlmSettings
from memory.settings import ContextSettings, MemorySettings
from memory.spending import BudgetSettings, Price
from texts.catalogue import SOURCE, languages

PLACEHOLDER = "CHANGE-ME"
RULES = MemorySettings()
WINDOW = ContextSettings()
MODEL = LlmSettings()
EMBEDDINGS = EmbeddingSettings()

SecretFile = Annotated[Path | None, Field(strict=False)]
HELD_IN_FILE = "the path of a file, relative to config.toml; readable by its owner only"


def _holds_placeholder(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(_holds_placeholder(item) for item in value)
    return isinstance(value, str) and PLACEHOLDER in value.upper()


class Section(BaseModel):
    """Base of the sections. Values are never converted: a number in quotes is a fault, not a number. An empty text is
    the same as nothing where nothing is the default.

    `live`: a changed value acts at SIGHUP; otherwise it waits for a restart. A secret key `x` has a sibling `x_file`,
    the path of a file that holds it (`settings_secrets`).
    """

    live: ClassVar[bool] = False
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_placeholder_and_unset_empty(cls, value: Any, info: ValidationInfo) -> Any:
        if _holds_placeholder(value):
            raise PydanticCustomError("placeholder", "placeholder")
        unset = info.field_name is not None and value == "" and cls.model_fields[info.field_name].default is None
        return None if unset else value


class MatrixSection(Section):
    """The bot's account."""

    homeserver: str = Field(
        pattern=r"^https?://[^\s/]+\S*$",
        description="Where the homeserver's client API is reached.",
        json_schema_extra={"allowed": "an http:// or https:// address", "example": f"https://{PLACEHOLDER}"},
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
    ignore_users: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(),
        description="Users the bot never answers, such as bridged ghosts; * stands for anything.",
        json_schema_extra={"allowed": 'a list of user ids or patterns such as "@irc_*:example.org"', "live": True},
    )


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


class ModelPrice(BaseModel):
    """What a million tokens of one model cost."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)


class LlmSection(Section):
    """The language model."""

    provider: Literal["anthropic", "offline"] = Field(
        default="anthropic",
        description="anthropic: a server that speaks the Messages API. offline: simple rules of the bot's own.",
    )
    base_url: str = Field(
        default=MODEL.base_url,
        pattern=r"^https?://[^\s/]+\S*$",
        description="A server that speaks the Messages API, such as Ollama or LiteLLM, without /v1. One that wants no "
        "key needs any text as api_key.",
        json_schema_extra={"allowed": "an http:// or https:// address"},
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="The key for that server; the variable ANTHROPIC_API_KEY is read where this is not set.",
        json_schema_extra={"allowed": "the key"},
    )
    api_key_file: SecretFile = Field(
        default=None, description="A file that holds the key instead.", json_schema_extra={"allowed": HELD_IN_FILE}
    )
    assistant_model: str = Field(
        default=MODEL.assistant_model,
        min_length=1,
        description="The model that answers.",
        json_schema_extra={"allowed": "the name of a model", "live": True},
    )
    memory_model: str = Field(
        default=MODEL.memory_model,
        description="The model that finds facts to remember; empty: the one that answers.",
        json_schema_extra={"allowed": "the name of a model, or empty", "live": True},
    )
    max_tokens: int = Field(
        default=MODEL.max_tokens,
        ge=1,
        le=128_000,
        description="How long an answer may be, thinking included, in tokens of the model.",
        json_schema_extra={"live": True},
    )
    timeout_seconds: float = Field(
        default=MODEL.timeout_seconds,
        gt=0,
        le=3600,
        description="How long one call of the model may take, with all its retries.",
        json_schema_extra={"live": True},
    )
    max_retries: int = Field(
        default=MODEL.max_retries,
        ge=0,
        le=10,
        description="How often a failed call is tried again before the person is told.",
    )
    max_in_flight: int = Field(
        default=MODEL.max_in_flight, ge=1, le=1000, description="Calls of the model running at one time."
    )
    breaker_failures: int = Field(
        default=MODEL.breaker_failures,
        ge=1,
        le=1000,
        description="Calls in a row that must fail for the model's server to be left alone for breaker_seconds; people "
        "are told so at once. Then one call tries.",
        json_schema_extra={"live": True},
    )
    breaker_seconds: float = Field(
        default=MODEL.breaker_seconds,
        gt=0,
        le=3600,
        description="How long a server that fails is left alone.",
        json_schema_extra={"live": True},
    )
    daily_budget: float = Field(
        default=0,
        ge=0,
        description="What the model may cost in a UTC day; then nothing is asked of it until the next. 0: no limit.",
        json_schema_extra={"live": True},
    )
    budget_unit: Literal["tokens", "currency"] = Field(
        default="tokens",
        description="What daily_budget counts: all tokens, or money by prices.",
        json_schema_extra={"live": True},
    )
    prices: dict[str, ModelPrice] = Field(
        default={},
        validate_default=True,
        description="What a million tokens cost, by model, in the currency of daily_budget: a section "
        '[llm.prices."name of a model"] with input, output, cache_read and cache_write; the last two cost as much as '
        "input where they are left out.",
        json_schema_extra={
            "allowed": "a table by model with input, output, cache_read, cache_write, numbers from 0; in the variable, "
            "as JSON",
            "live": True,
        },
    )

    @field_validator("prices")
    @classmethod
    def _hold_the_models_in_use(cls, value: dict[str, ModelPrice], info: ValidationInfo) -> dict[str, ModelPrice]:
        given = info.data
        if given.get("budget_unit") == "currency" and given.get("daily_budget"):
            asked = {name: given.get(name) for name in ("assistant_model", "memory_model")}
            missing = [f"llm.{name}" for name, model in asked.items() if model and model not in value]
            if missing:
                keys = " and ".join(missing)
                raise PydanticCustomError(
                    "no_price", 'no price for the model of {keys}; budget_unit "currency" needs it', {"keys": keys}
                )
        return value

    def client(self) -> LlmSettings:
        """Return the values as the model client reads them."""
        values = self.model_dump(exclude={"api_key_file", "daily_budget", "budget_unit", "prices"})
        values["api_key"] = self.api_key or SecretStr("")
        return LlmSettings(**values)

    def budget(self) -> BudgetSettings:
        """Return what a day may cost."""
        prices = {model: Price(**price.model_dump()) for model, price in self.prices.items()}
        return BudgetSettings(self.daily_budget, self.budget_unit, prices)


class MemorySection(Section):
    """What is remembered, and when it rests. The letters in brackets name rules of memory."""

    live: ClassVar[bool] = True
    enabled: bool = Field(
        default=RULES.enabled,
        description="Learn facts from conversations (P2). Saving on request, recall and ageing go on without it.",
        json_schema_extra={"scope": "room"},
    )
    promotion_threshold: int = Field(
        default=RULES.promotion_threshold,
        ge=1,
        le=1000,
        description="Mentions after which a fact becomes a memory (P10); 1 keeps every fact at once.",
    )
    candidate_ttl_days: int = Field(
        default=RULES.candidate_ttl_days,
        ge=0,
        le=36_500,
        description="Days without a mention after which a fact that is no memory yet is dropped (P4); 0: never.",
    )
    max_per_user: int = Field(
        default=RULES.max_per_user,
        ge=1,
        le=100_000,
        description="Memories of one person at which the bot stops learning about them (P3).",
    )
    cleanup_interval: int = Field(
        default=RULES.cleanup_interval,
        ge=0,
        le=1000,
        description="Passes that saved something after which memories are tidied (P13); 0: never. "
        "This version counts them but does not tidy yet.",
    )
    decay_enabled: bool = Field(
        default=RULES.decay_enabled,
        description="Let unused memories rest and search them (D5, D13). MEMORY_DECAY_ENABLED=false overrules this.",
    )
    rest_after_days: int = Field(
        default=RULES.rest_after_days,
        ge=1,
        le=36_500,
        description="Chat days without use after which a memory rests (D5).",
    )
    match_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Similarity from which a memory counts as used (D3); not set: 0.25, as measured for the built-in "
        "embedder, or 0.3 for openai, which suits no model in particular.",
    )
    capacity_room: int = Field(
        default=RULES.capacity_room, ge=1, le=100_000, description="Memories one room's list holds (D9)."
    )
    capacity_personal: int = Field(
        default=RULES.capacity_personal, ge=1, le=100_000, description="Memories one person's list holds (D9)."
    )
    private_stays_private: bool = Field(
        default=RULES.private_stays_private,
        description="What was said in a direct room is not used in group rooms (D8).",
    )

    def rules(self, embedder_threshold: float | None) -> MemorySettings:
        """Return what the rules read. `embedder_threshold` None: there is no embedder, so nothing decays (D13)."""
        values = self.model_dump()
        if self.match_threshold is None:
            values["match_threshold"] = RULES.match_threshold if embedder_threshold is None else embedder_threshold
        values["decay_enabled"] = self.decay_enabled and embedder_threshold is not None
        return MemorySettings(**values)


class ContextSection(Section):
    """The window: what of a conversation the model is shown again."""

    live: ClassVar[bool] = True
    max_messages: int = Field(
        default=WINDOW.max_messages,
        ge=1,
        le=1000,
        description="Messages of a room or thread that are kept in view.",
        json_schema_extra={"scope": "room"},
    )
    timeout_minutes: int = Field(
        default=WINDOW.timeout_minutes,
        ge=1,
        le=525_600,
        description="Minutes after which a message is out of view.",
        json_schema_extra={"scope": "room"},
    )

    def window(self) -> ContextSettings:
        """Return the values as the actors read them."""
        return ContextSettings(**self.model_dump())


class EmbeddingsSection(Section):
    """How memories are compared with what is said."""

    provider: Literal["builtin", "openai", "none"] = Field(
        default="builtin",
        description="builtin: a small multilingual model inside the bot. openai: a server that speaks OpenAI's "
        "/v1/embeddings, such as Ollama, vLLM or OpenAI; the other keys are for it. none: no search, so nothing rests "
        "(D13).",
    )
    base_url: str = Field(
        default=EMBEDDINGS.base_url,
        pattern=r"^https?://[^\s/]+\S*$",
        description="The address of that server's API with its version; /embeddings is added.",
        json_schema_extra={"allowed": "an http:// or https:// address"},
    )
    model: str = Field(
        default=EMBEDDINGS.model,
        validate_default=True,
        description="The embedding model. Another model, or another length, embeds every memory anew (D17). Set "
        "memory.match_threshold to what suits it.",
        json_schema_extra={"allowed": "the name of a model; not empty for openai"},
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="The key for that server, where it wants one.",
        json_schema_extra={"allowed": "the key"},
    )
    api_key_file: SecretFile = Field(
        default=None, description="A file that holds the key instead.", json_schema_extra={"allowed": HELD_IN_FILE}
    )
    timeout_seconds: float = Field(
        default=EMBEDDINGS.timeout_seconds,
        gt=0,
        le=600,
        description="How long an answer may wait for the search; then it is given without it (D7).",
    )
    dimensions: int | None = Field(
        default=None,
        ge=1,
        le=16_384,
        description="Numbers in a vector, for models that let one choose; not set: what the model gives.",
    )

    @field_validator("model")
    @classmethod
    def _named_where_needed(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("provider") == "openai" and not value:
            raise PydanticCustomError("no_model", "no model")
        return value

    def client(self) -> EmbeddingSettings:
        """Return the values as the embedders read them."""
        values = self.model_dump(exclude={"api_key_file"})
        values["api_key"] = self.api_key or SecretStr("")
        return EmbeddingSettings(**values)


class JournalSection(Section):
    """What came in, kept so that nothing is lost or answered twice."""

    live: ClassVar[bool] = True
    retention_days: int = Field(
        default=7, ge=1, le=3650, description="Days for which the texts of answered messages are kept."
    )


class StorageSection(Section):
    """Where everything is kept."""

    data_dir: Annotated[Path, Field(strict=False)] = Field(
        default=Path("data"),
        description="Folder of the database and the encryption keys; relative to config.toml.",
        json_schema_extra={"allowed": "the path of a folder"},
    )


class LimitsSection(Section):
    """How much of the machine's memory the bot takes, beside about 280 MB that it takes always."""

    index_mb: int = Field(
        default=64,
        ge=1,
        le=100_000,
        description="MB for the vectors of lists in use: 64 hold 1,200 lists of 20 memories. Lists used longest ago go "
        "first and are read again when they are needed.",
    )
    loaded_actors: int = Field(
        default=5000,
        ge=100,
        le=10_000_000,
        description="Rooms, users and outboxes in memory at one time: about 15 kB each, and three for a person in a "
        "room of their own. Over it, idle ones used longest ago go first.",
    )
    idle_minutes: float = Field(
        default=10, gt=0, le=100_000, description="Minutes without a message after which a room or user is let go."
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


class Settings(BaseSettings):
    """All settings; one attribute for each section of config.toml. Reads nothing by itself."""

    model_config = SettingsConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    matrix: MatrixSection
    bot: BotSection = BotSection()
    llm: LlmSection = LlmSection()
    memory: MemorySection = MemorySection()
    context: ContextSection = ContextSection()
    embeddings: EmbeddingsSection = EmbeddingsSection()
    journal: JournalSection = JournalSection()
    storage: StorageSection = StorageSection()
    limits: LimitsSection = LimitsSection()
    http: HttpSection = HttpSection()
    log: LogSection = LogSection()

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
        values = [value for _, section in self for _, value in section]
        return tuple(value.get_secret_value() for value in values if isinstance(value, SecretStr))
