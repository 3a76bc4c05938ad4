"""The embedders that the benches of recall compare: one as it is, and the built-in one's parts each alone."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import SecretStr

from actors.ports import Embedder
from index.builtin import WEIGHT_OF_WORDS, BuiltinEmbedder, Parts
from index.embedders import build_embedder
from index.openai import OpenAiEmbedder
from index.settings import EmbeddingSettings

Vectors = NDArray[np.float32]
Rows = Callable[[Sequence[str]], Awaitable[Vectors]]


@dataclass(frozen=True)
class Variant:
    """How memories and messages become vectors. threshold: its own, None for a part that has none."""

    name: str
    memories: Rows
    messages: Rows
    threshold: float | None = None


def whole(embedder: Embedder, threshold: float | None = None) -> Variant:
    """Return an embedder as the bot uses it."""

    async def messages(texts: Sequence[str]) -> Vectors:
        return np.stack([await embedder.embed_query(text) for text in texts])

    limit = embedder.match_threshold if threshold is None else threshold
    return Variant(embedder.model_id, embedder.embed, messages, limit)


def parts(embedder: BuiltinEmbedder) -> list[Variant]:
    """Return what the built-in embedder is made of, each compared by its plain cosine."""

    def alone(name: str, rows: Callable[[Parts], Vectors]) -> Variant:
        async def of(texts: Sequence[str]) -> Vectors:
            return rows(embedder.parts(texts))

        return Variant(name, of, of)

    return [
        alone("the model alone", lambda each: each.raw),
        alone("without chatter", lambda each: each.meaning),
        alone("the words alone", lambda each: each.words),
        alone(
            "both, by cosine",
            lambda each: np.hstack([each.meaning, WEIGHT_OF_WORDS**0.5 * each.words]) / (1 + WEIGHT_OF_WORDS) ** 0.5,
        ),
    ]


def from_arguments(arguments: Sequence[str]) -> tuple[BuiltinEmbedder | OpenAiEmbedder, float | None]:
    """Return the embedder that a bench's command line means, with the threshold given there.

    Nothing: the built-in one. "openai URL MODEL [THRESHOLD]": a server's, with its key in OPENAI_API_KEY.
    """
    settings, threshold = EmbeddingSettings(), None
    if arguments[:1] == ["openai"]:
        url, model, *rest = arguments[1:]
        key = SecretStr(os.environ.get("OPENAI_API_KEY", ""))
        settings = EmbeddingSettings("openai", url, model, key, timeout_seconds=300)
        threshold = float(rest[0]) if rest else None
    embedder = build_embedder(settings)
    assert embedder is not None
    return embedder, threshold
