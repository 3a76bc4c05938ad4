"""A real HTTP server that speaks `/v1/embeddings`, with a script for its faults.

    async with EmbeddingsServer() as server:
        embedder = OpenAiEmbedder(server.settings())

Vectors are made from the words of a text, so that texts with common words are alike.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from pydantic import SecretStr

from index.settings import EmbeddingSettings
from tests.fakes.scripted_server import Json, ScriptedServer, Step

KEY = "sk-embeddings-secret"
MODEL = "test-embedder"
NATIVE = 32


def vector_of(text: str, dim: int = NATIVE) -> list[float]:
    """Return a vector of the words of a text, of no particular length."""
    numbers = [0.01] * dim
    for word in text.lower().split():
        numbers[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % dim] += 2.5
    return numbers


class EmbeddingsServer(ScriptedServer):
    """See the module. `native`: numbers in a vector unless asked otherwise."""

    path = "/v1/embeddings"

    def __init__(self, *steps: Step, native: int = NATIVE) -> None:
        super().__init__(*steps)
        self.native = native
        self.refused: str | None = None  # a request with this word in a text is answered with status 400

    def settings(self, **changes: Any) -> EmbeddingSettings:
        base = EmbeddingSettings("openai", self.base_url, MODEL, SecretStr(KEY), timeout_seconds=5.0)
        return replace(base, **changes)

    def refusal(self, body: Json) -> Step | None:
        refused = self.refused is not None and any(self.refused in text for text in body["input"])
        return Step(status=400) if refused else None

    def usual(self, body: Json) -> Json:
        dim = body.get("dimensions") or self.native
        items = [
            {"object": "embedding", "index": number, "embedding": vector_of(text, dim)}
            for number, text in enumerate(body["input"])
        ]
        return {"object": "list", "data": items, "model": body["model"], "usage": {"prompt_tokens": 1}}
