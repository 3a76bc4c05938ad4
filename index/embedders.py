"""Which embedder a name in the settings means."""

from __future__ import annotations

from index.builtin import BuiltinEmbedder
from memory.errors import SettingsError

NAMES = ("builtin", "none")


def build_embedder(name: str) -> BuiltinEmbedder | None:
    """Return the embedder for `embeddings.provider`; None for "none", which turns decay off (D13).

    Raises SettingsError, naming key and what is allowed. "builtin" takes about a second to load.
    """
    if name == "builtin":
        return BuiltinEmbedder()
    if name == "none":
        return None
    raise SettingsError(f"embeddings.provider: {name!r} is not known; allowed are {', '.join(NAMES)}")
