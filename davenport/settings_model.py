"""The settings of the language model and of the embeddings; see `davenport.settings`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from davenport.settings_section import AN_ADDRESS, HELD_IN_FILE, Address, ModelName, SecretFile, Section
from index.settings import EmbeddingSettings
from llm.settings import LlmSettings
from memory.spending import BudgetSettings, Price

MODEL = LlmSettings()
EMBEDDINGS = EmbeddingSettings()


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
    base_url: Address = Field(
        default=MODEL.base_url,
        description="A server that speaks the Messages API, such as Ollama or LiteLLM, without /v1. One that wants no "
        "key needs any text as api_key.",
        json_schema_extra={"allowed": AN_ADDRESS},
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
        description="The model that finds facts to remember and tidies memories; empty: the one that answers.",
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


class EmbeddingsSection(Section):
    """How memories and documents are compared with what is said."""

    provider: Literal["builtin", "openai", "none"] = Field(
        default="builtin",
        description="builtin: a small multilingual model inside the bot. openai: a server that speaks OpenAI's "
        "/v1/embeddings, such as Ollama, vLLM or OpenAI; the other keys are for it. none: no search, so nothing rests "
        "(D13) and no document is used.",
    )
    base_url: Address = Field(
        default=EMBEDDINGS.base_url,
        description="The address of that server's API with its version; /embeddings is added.",
        json_schema_extra={"allowed": AN_ADDRESS},
    )
    model: ModelName = Field(
        default=EMBEDDINGS.model,
        description="The embedding model. Another model, or another length, embeds everything anew (D17). Set "
        "memory.match_threshold and documents.match_threshold to what suits it.",
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
    background_per_minute: int = Field(
        default=6000,
        ge=1,
        le=1_000_000,
        description="Memories and parts of documents embedded in a minute at most in the background, after a change of "
        "the model (D17). What is in use does not wait for it.",
    )

    def client(self) -> EmbeddingSettings:
        """Return the values as the embedders read them."""
        values = self.model_dump(exclude={"api_key_file", "background_per_minute"})
        values["api_key"] = self.api_key or SecretStr("")
        return EmbeddingSettings(**values)
