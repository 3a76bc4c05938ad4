"""Settings of the painter; where they come from is no concern of this package."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import SecretStr

MODEL = "model"
OPENAI = "openai"


@dataclass(frozen=True, slots=True)
class PainterSettings:
    """The `draw.*` keys; all but `provider` are read for "openai" only.

    base_url: up to and including the version, `https://api.openai.com/v1`. api_key never prints; "" sends none. size:
    as the server names it, such as 1024x1024; "" leaves it to the server.
    """

    provider: str = MODEL
    base_url: str = "http://127.0.0.1:8188/v1"
    model: str = ""
    size: str = "1024x1024"
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    timeout_seconds: float = 120.0
