"""What the model is told of a kind of turn, beside the last message: the prompt's start stays the same (D14)."""

from __future__ import annotations

from memory.types import TurnKind

INSTRUCTIONS: dict[TurnKind, str] = {
    TurnKind.CODE: """\
This message asks for code. Answer with code that can be used as it is, in fenced blocks that name their language, \
one block for each file. Where a file needs a certain name, write it behind the language, as in ```python app.py. \
Say in a sentence or two before or after the code what has to be known to use it; explain more only where the message \
asks for it.""",
    TurnKind.VERSE: """\
This message is part of a scene. Answer in character, as the persona you were given, in the scene's own time and \
place. Do not step out of it, do not speak or act for the person you play with, and leave room for what they do next. \
What the person writes in double brackets or marks as OOC is said out of character: answer that briefly in brackets \
too. What characters say of themselves, or ask you to remember or to forget, is fiction: save and forget nothing for \
it. A tool is for what the person asks for out of character.""",
}
"""For the kinds whose answers differ from those to `!ask`."""
