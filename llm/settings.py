"""Settings of the model side; where they come from is no concern of this package."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import SecretStr

ANTHROPIC = "anthropic"
OFFLINE = "offline"
DEFAULT_BASE_URL = "https://api.anthropic.com"


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The `llm.*` keys.

    provider: "anthropic" (the API itself, or any server that speaks it) or "offline". base_url: without `/v1`.
    api_key never prints. memory_model: "" means assistant_model. max_tokens: of one answer, thinking included.
    timeout_seconds: of one model call with all its retries. max_in_flight: calls at one time. breaker_failures: calls
    in a row that must fail before the server is left alone for breaker_seconds.
    """

    provider: str = ANTHROPIC
    base_url: str = DEFAULT_BASE_URL
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    assistant_model: str = "claude-sonnet-5-5"
    memory_model: str = "claude-haiku-5-5"
    max_tokens: int = 8192
    timeout_seconds: float = 120.0
    max_retries: int = 2
    max_in_flight: int = 8
    breaker_failures: int = 5
    breaker_seconds: float = 30.0

    @property
    def extraction_model(self) -> str:
        """The model that extraction asks: memory_model, or assistant_model where that is empty."""
        return self.memory_model or self.assistant_model
