"""Every sentence the bot says to people, by id, in the form and by the plural rules of gettext.

`davenport.pot` is the one place for the English: an entry's context is the id that code uses. Each `xx.po` beside it
adds a language. They are read as they are, so nothing has to be compiled. What a translation lacks is said in English.
"""

from __future__ import annotations

import gettext
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources

import polib

from memory.errors import Refused

SOURCE = "en"
TEMPLATE = "davenport.pot"
_EXTENSION = ".po"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The English of one id; `many` where the value `n` decides between singular and plural."""

    one: str
    many: str | None


class Speaker:
    """Says things in one language. `prefix`: what commands begin with, known to every sentence as `{prefix}`."""

    def __init__(self, language: str = SOURCE, *, prefix: str = "!") -> None:
        """`language`: one of `languages()`. Raises LookupError for another."""
        self._translations = _translations(language)
        self._prefix = prefix

    def __call__(self, text_id: str, /, **values: str | int) -> str:
        """Return the sentence of an id with these values in it, as Markdown. `n` also chooses the plural.

        A value goes in as it is: what people wrote is escaped by whoever passes it. Raises KeyError for an unknown id
        or a value that is not given.
        """
        sentence = sentences()[text_id]
        if sentence.many is None:
            said = self._translations.pgettext(text_id, sentence.one)
        else:
            said = self._translations.npgettext(text_id, sentence.one, sentence.many, int(values["n"]))
        return said.format(**values, prefix=self._prefix)

    def refusal(self, refused: Refused) -> str:
        """Return why something cannot be done, and what to do instead."""
        return self(refused.text_id, **refused.values)


@cache
def languages() -> tuple[str, ...]:
    """Return the languages there are, the one of the template first."""
    names = (file.name for file in resources.files(__package__).iterdir())
    return (SOURCE, *sorted(name.removesuffix(_EXTENSION) for name in names if name.endswith(_EXTENSION)))


@cache
def sentences() -> dict[str, Sentence]:
    """Return the English of every id."""
    return {str(entry.msgctxt): Sentence(entry.msgid, entry.msgid_plural or None) for entry in read(TEMPLATE)}


@cache
def _translations(language: str) -> gettext.NullTranslations:
    if language not in languages():
        raise LookupError(f"there are no texts in {language!r}")
    if language == SOURCE:
        return gettext.NullTranslations()
    return gettext.GNUTranslations(io.BytesIO(read(f"{language}{_EXTENSION}").to_binary()))


def read(name: str) -> polib.POFile:
    """Read a file of this package."""
    return polib.pofile(resources.files(__package__).joinpath(name).read_text("utf-8"), check_for_duplicates=True)
