"""Word tables: what the rules of this package know of languages is data, in `words/*.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

Phrase = tuple[str, ...]


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def phrases(text: str) -> frozenset[Phrase]:
    """Return the phrases of a text, separated by bars, each as the tuple of its words."""
    return frozenset(tuple(phrase.split()) for phrase in text.split("|") if phrase.strip())


class Tables:
    """One file of tables, read once; a missing key is an error at import."""

    def __init__(self, name: str) -> None:
        """`name` of the file in `words/`, without its ending."""
        source = files("llm.offline").joinpath("words", f"{name}.toml").read_text(encoding="utf-8")
        self._data: dict[str, Any] = tomllib.loads(source)

    def text(self, key: str) -> str:
        """Return a text whose lines are joined without anything between, such as a long pattern."""
        return _one_line(self._data[key])

    def lines(self, key: str) -> tuple[str, ...]:
        """Return the lines of a text that are not blank."""
        return tuple(line for line in self._data[key].splitlines() if line.strip())

    def listed(self, key: str) -> tuple[str, ...]:
        """Return words in the order they are written in."""
        return tuple(self._data[key].split())

    def words(self, key: str) -> frozenset[str]:
        """Return a set of words."""
        return words(self._data[key])

    def phrases(self, key: str) -> frozenset[Phrase]:
        """Return a set of phrases."""
        return phrases(self._data[key])

    def mapping(self, key: str) -> Mapping[str, str]:
        """Return words with what stands for them."""
        return dict(self._data[key])

    def words_by(self, key: str) -> Mapping[str, frozenset[str]]:
        """Return a set of words for each word."""
        return {word: words(text) for word, text in self._data[key].items()}

    def phrases_by(self, key: str) -> Mapping[str, frozenset[Phrase]]:
        """Return a set of phrases for each word."""
        return {word: phrases(text) for word, text in self._data[key].items()}

    def rows(self, key: str) -> list[dict[str, str]]:
        """Return the rows of an array of tables, each value as `text` returns it."""
        return [{name: _one_line(value) for name, value in row.items()} for row in self._data[key]]

    def raw_rows(self, key: str) -> list[dict[str, str]]:
        """Return the rows of an array of tables, the lines of a value as they are."""
        return [{name: value.strip("\n") for name, value in row.items()} for row in self._data[key]]


def _one_line(text: str) -> str:
    """Return the lines of a text joined, without their line breaks; what stands on a line stays as it is."""
    return text.replace("\n", "")
