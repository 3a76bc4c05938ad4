"""The files of texts/: whole in every language, and read by gettext's rules."""

from __future__ import annotations

from string import Formatter

import polib
import pytest

from memory.errors import Refused
from texts.catalogue import SOURCE, TEMPLATE, Speaker, languages, read, sentences

TRANSLATED = [language for language in languages() if language != SOURCE]
IDS = sorted(sentences())


def placeholders(text: str) -> set[str]:
    """The names in braces; what is not a plain name (an index, an attribute, a format) is a fault."""
    found = [(name, form, conversion) for _, name, form, conversion in Formatter().parse(text) if name is not None]
    assert all(name.isidentifier() and not form and not conversion for name, form, conversion in found), text
    return {name for name, _, _ in found}


def entries(language: str) -> dict[str, polib.POEntry]:
    return {entry.msgctxt: entry for entry in read(f"{language}.po") if not entry.obsolete}


def wordings(entry: polib.POEntry) -> list[str]:
    """Every form a translated entry has: one, or one for each plural."""
    return list(entry.msgstr_plural.values()) or [entry.msgstr]


def test_english_and_german_are_there() -> None:
    assert {"en", "de"} <= set(languages())


def test_every_entry_of_the_template_has_an_id_of_its_own_and_no_translation() -> None:
    template = read(TEMPLATE)
    assert len(IDS) == len(template) > 0
    assert all(entry.msgctxt and not entry.msgstr for entry in template)


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_lacks_nothing_and_has_nothing_else(language: str) -> None:
    found = entries(language)
    assert sorted(found) == IDS
    missing = [text_id for text_id, entry in found.items() if not entry.translated()]
    assert missing == [], "untranslated or marked fuzzy"


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_is_of_the_english_that_is_said_now(language: str) -> None:
    found = entries(language)
    stale = [
        text_id
        for text_id, sentence in sentences().items()
        if (found[text_id].msgid, found[text_id].msgid_plural or None) != (sentence.one, sentence.many)
    ]
    assert stale == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_placeholders_are_the_same_in_every_language_and_form(language: str) -> None:
    found = entries(language)
    for text_id, sentence in sentences().items():
        wanted = placeholders(sentence.one)
        assert placeholders(sentence.many or sentence.one) == wanted, text_id
        for wording in wordings(found[text_id]):
            assert placeholders(wording) == wanted, text_id


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_plural_a_language_has_is_translated(language: str) -> None:
    plural_forms = read(f"{language}.po").metadata["Plural-Forms"]
    count = int(plural_forms.partition("nplurals=")[2].partition(";")[0])
    for text_id, sentence in sentences().items():
        if sentence.many is not None:
            assert sorted(entries(language)[text_id].msgstr_plural) == list(range(count)), text_id


@pytest.mark.parametrize("language", TRANSLATED)
def test_code_is_the_same_in_every_language(language: str) -> None:
    """What stands between backticks is typed by people, so it is never translated."""
    for text_id, sentence in sentences().items():
        for wording in wordings(entries(language)[text_id]):
            assert wording.split("`")[1::2] == sentence.one.split("`")[1::2], text_id


def test_n_chooses_the_plural() -> None:
    for language, one, three in (
        ("en", "They fade by themselves after 1 day.", "They fade by themselves after 3 days."),
        ("de", "Es verblasst nach 1 Tag von selbst.", "Es verblasst nach 3 Tagen von selbst."),
    ):
        say = Speaker(language)
        assert (say("notes-fade", n=1), say("notes-fade", n=3)) == (one, three)


def test_values_go_in_as_they_are_and_are_no_form_themselves() -> None:
    assert (
        Speaker()("memory-edited", id="1234567", text="{prefix} {0} {n!r}")
        == "**#1234567** now reads: {prefix} {0} {n!r}"
    )


def test_the_prefix_in_use_is_known_to_every_sentence() -> None:
    refused = Refused("list-full-personal", n=3, capacity=3)
    assert "`%memories del ID`" in Speaker(prefix="%").refusal(refused)
    assert "`%memories del ID`" in Speaker("de", prefix="%").refusal(refused)


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(LookupError, match="no texts in 'tlh'"):
        Speaker("tlh")


def test_a_refusal_shows_no_text_of_people_where_errors_are_logged() -> None:
    assert str(Refused("command-unknown", word="my secret")) == "command-unknown"
