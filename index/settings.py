"""Settings of the embedders; where they come from is no concern of this package."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import SecretStr

BUILTIN = "builtin"
OPENAI = "openai"
NONE = "none"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The `embeddings.*` keys; all but `provider` are read for "openai" only.

    base_url: up to and including the version, `https://api.openai.com/v1`. api_key never prints; "" sends none.
    timeout_seconds: of one search, whatever it takes. dimensions: asked of the server and expected from it; None: what
    the model gives by itself.
    """

    provider: str = BUILTIN
    base_url: str = "http://127.0.0.1:11434/v1"
    model: str = ""
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    timeout_seconds: float = 10.0
    dimensions: int | None = None
