"""What people wrote, put into Markdown so that it shows exactly as they wrote it."""

from __future__ import annotations

import re

from memory.text import visible

_MARKUP = re.compile(r"([\\`*_\[\]<>&~|])")


def escape(text: str) -> str:
    """Return a person's text as Markdown that shows exactly it, on one line: no formatting, links or HTML in it."""
    return _MARKUP.sub(r"\\\1", " ".join(visible(text).split()))
