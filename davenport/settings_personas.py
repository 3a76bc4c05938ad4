"""Named characters of the bot: `[personas.NAME]` in config.toml, in faults and on the pages."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from memory.text import blank
from memory.types import LoreEntry, Persona

TABLE = "personas"
DEFAULT = Persona().name
ALLOWED_NAME = "1 to 40 letters, digits, -, _ and ."
MOST_PROMPT, MOST_TEXT, MOST_WORDS = 20_000, 5000, 100  # characters

ALLOWED = {
    "prompt": f"a text of at most {MOST_PROMPT} characters",
    "attributes": f"a list of texts, each of 1 to {MOST_TEXT} characters",
    "answers_to": f"a list of names, each of 1 to {MOST_WORDS} characters",
    "lorebook": 'tables [[personas.NAME.lorebook]] with text, and with keys or "always_on = true"',
    "lorebook.text": f"a text of 1 to {MOST_TEXT} characters",
    "lorebook.keys": f"a list of words or phrases, each of 1 to {MOST_WORDS} characters",
    "lorebook.always_on": "true or false",
}
EXAMPLE = """\
[personas.pirate]
prompt = "You are Juno, captain of the Larkspur, and speak like one."
attributes = ["Never speaks of the lost ship unasked."]
answers_to = ["Juno", "Captain"]

[[personas.pirate.lorebook]]
text = "The Larkspur has three masts and a crew of eleven."
always_on = true

[[personas.pirate.lorebook]]
keys = ["kraken", "sea monster"]
text = "The kraken took the captain's left boot and is owed a visit."
"""
MEANING = f"""\
A named character of the bot. `prompt` says who it is; `attributes`, and entries of the lorebook that are `always_on`,
stand in every prompt and never rest (D15). Any other entry comes in when one of its `keys` occurs as a word in the
conversation. `answers_to`: names that address the bot at the beginning of a message, in rooms where this persona is
current. NAME is {ALLOWED_NAME}; upper and lower case are the same. `default` is the persona
of rooms that chose none, and of those whose persona was taken out here. Changes act at SIGHUP."""


def lowered(name: Any) -> Any:
    """Return the name of a persona as names are compared."""
    return unicodedata.normalize("NFC", name).lower() if isinstance(name, str) else name


def _said(text: str) -> str:
    if blank(text):
        raise PydanticCustomError("blank", "blank")
    return text


def _once(table: Any) -> Any:
    """Refuse a table that gives a persona twice, in other cases: which of them holds is unclear."""
    if isinstance(table, dict):
        names = [lowered(name) for name in table]
        for name in table:
            if names.count(lowered(name)) > 1:
                raise PydanticCustomError("twice", "{name}", {"name": _heading(name)})
    return table


PersonaName = Annotated[str, BeforeValidator(lowered), Field(pattern=r"^[\w.-]{1,40}$")]
Text = Annotated[str, StringConstraints(max_length=MOST_TEXT), AfterValidator(_said)]
Words = Annotated[str, StringConstraints(max_length=MOST_WORDS), AfterValidator(_said)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class LoreSettings(_Table):
    """One entry of a lorebook; it must have a way to come in."""

    text: Text
    keys: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    always_on: bool = False

    @model_validator(mode="after")
    def _comes_in(self) -> Self:
        if not self.keys and not self.always_on:
            raise PydanticCustomError("never_used", "never used")
        return self


class PersonaSettings(_Table):
    """What an operator says of one persona."""

    prompt: str = Field(default="", max_length=MOST_PROMPT)
    attributes: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    answers_to: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    lorebook: Annotated[tuple[LoreSettings, ...], Field(strict=False)] = ()

    def persona(self, name: str) -> Persona:
        """Return the values as the rules read them."""
        lorebook = tuple(LoreEntry(entry.text, entry.keys, entry.always_on) for entry in self.lorebook)
        return Persona(name, self.prompt, self.attributes, lorebook, self.answers_to)


Personas = Annotated[dict[PersonaName, PersonaSettings], BeforeValidator(_once)]


def fault(detail: ErrorDetails) -> str:
    """Say in one line what is wrong at one place of the table; names keys and what is allowed, no values."""
    if detail["type"] == "twice":
        return f"{detail['msg']} is given twice; upper and lower case are the same"
    name, *keys = (*map(str, detail["loc"][1:]),) or ("",)
    if len(detail["loc"]) == 1:
        return f"{TABLE} must be tables, one for each persona: {_heading('NAME')}"
    if keys == ["[key]"]:
        return f"{_heading(name)}: the name must be {ALLOWED_NAME}"
    if not keys:
        return f"{_heading(name)} must be a table"
    at = ".".join(part for part in keys if not part.isdigit())
    place = ".".join(str(int(part) + 1) if part.isdigit() else part for part in keys)
    if at in ALLOWED:
        return f"{_heading(name)}: {place} must be {ALLOWED[at]}"
    known = [key for key in ALLOWED if key.startswith("lorebook.") == at.startswith("lorebook.")]
    return f"{_heading(name)}: {place} is not a setting; there is {', '.join(known)}"


def _heading(name: str) -> str:
    return f"[{TABLE}.{name}]"
