"""Which embedder the settings mean."""

from __future__ import annotations

from index.builtin import BuiltinEmbedder
from index.openai import OpenAiEmbedder
from index.settings import BUILTIN, NONE, OPENAI, EmbeddingSettings
from memory.errors import SettingsError

NAMES = (BUILTIN, OPENAI, NONE)


def build_embedder(settings: EmbeddingSettings) -> BuiltinEmbedder | OpenAiEmbedder | None:
    """Return the embedder for `embeddings.provider`; None for "none", which turns decay off (D13).

    Raises SettingsError, naming key and what is allowed. "builtin" takes about a second to load; "openai" is not asked
    anything yet, so that a start does not depend on its server.
    """
    if settings.provider == BUILTIN:
        return BuiltinEmbedder()
    if settings.provider == OPENAI:
        if not settings.model:
            raise SettingsError('embeddings.model: must name a model when embeddings.provider is "openai"')
        return OpenAiEmbedder(settings)
    if settings.provider == NONE:
        return None
    raise SettingsError(f"embeddings.provider: {settings.provider!r} is not known; allowed are {', '.join(NAMES)}")
