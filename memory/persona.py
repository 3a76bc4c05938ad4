"""What a persona brings into a prompt: what always holds (D15), and lorebook entries whose keys were heard.

Operators wrote it, so it is trusted; what people wrote never stands among it.
"""

from __future__ import annotations

from memory.types import LoreEntry, Persona
from memory.words import Heard


def standing_text(persona: Persona) -> str:
    """Return what stands in the start of every prompt: the persona's own prompt, attributes and always-on lorebook.

    The same bytes for the same persona, whatever is said (D14); "" where there is none of it.
    """
    parts = [persona.prompt.strip()]
    attributes = [f"- {attribute.strip()}" for attribute in persona.attributes if attribute.strip()]
    if attributes:
        parts.append("\n".join(("What always holds for you:", *attributes)))
    parts += [entry.text.strip() for entry in persona.lorebook if entry.always_on]
    return "\n\n".join(part for part in parts if part)


def keyed_entries(persona: Persona, heard: Heard) -> tuple[LoreEntry, ...]:
    """Return the entries in use because one of their keys was heard, in the order they were configured."""
    return tuple(
        entry
        for entry in persona.lorebook
        if not entry.always_on and entry.text.strip() and entry.keys and heard.has_any(entry.keys)
    )
