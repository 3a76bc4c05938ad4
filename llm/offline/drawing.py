"""Drawings of the offline server: an SVG put together from the words of a request that stand in a small table.

They say of themselves what is to be seen, and that rules drew it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from llm.offline.tables import Tables, words
from memory.text import clean

SIZE = 1024  # of the drawing, both ways
_MAX_THINGS = 6
_MAX_DRAWN = 10
_SEVERAL = 3  # how many of what is named in the plural without a number
_READ = 2_000  # characters of a request that are looked at
_MARGIN = 40
_HORIZON = 660
_GROUND = 860
_SIGN_LINE = 22  # characters
_SIGN_LINES = 4

_TABLES = Tables("drawing")
_ROWS = _TABLES.rows("thing")
_THINGS = {word: (row, 1) for row in _ROWS for word in row["words"].split()} | {
    word: (row, _SEVERAL) for row in _ROWS for word in row["many"].split()
}
_COLOURS = _TABLES.rows("colour")
_SCENES = {row["name"]: words(row["words"]) for row in _TABLES.rows("scene")}
_NUMBERS = {word: int(number) for number, each in _TABLES.words_by("numbers").items() for word in each}
_WORD = re.compile(r"[^\W_]+")
_SEPARATE = words("and und with mit on auf in under unter by an am at im vor hinter behind neben next")
_GERMAN_ENDING = r"(?:e[rnms]?)?"
_COLOUR_WORDS = [(re.compile(rf"{row['en']}|{row['de']}{_GERMAN_ENDING}"), row) for row in _COLOURS]


@dataclass(frozen=True, slots=True)
class _Thing:
    """A row of the table, how many of it, and the row of the colour that was asked for."""

    row: dict[str, str]
    count: int
    colour: dict[str, str] | None


_TEXTS = {
    "en": ("To be seen: {}. Drawn by offline rules, not by a language model.", "a sign that says “{}”"),
    "de": ("Zu sehen: {}. Gezeichnet nach festen Regeln, nicht von einem Sprachmodell.", "ein Schild mit „{}“"),
}


def draw(description: str, language: str) -> str:
    """Return an SVG of what the rules know of a description; a sign with its words where that is nothing."""
    asked = [word.lower() for word in _WORD.findall(description[:_READ])]
    things = _fitted(_things(asked))
    whole, sign = _TEXTS[language]
    if not things:
        lines = _lines(clean(description[:_READ]))
        return _svg(whole.format(sign.format(" ".join(lines))), _plain_ground(), _sign(lines))
    seen = ", ".join(_named(thing, language) for thing in things)
    return _svg(whole.format(seen), _background(frozenset(asked), things), *_placed(things))


def known_thing(text: str, language: str) -> str | None:
    """Return the name of the first thing in a text that could be drawn, None where there is none."""
    found = next(_things([word.lower() for word in _WORD.findall(text[:_READ])]), None)
    return None if found is None else found.row[language].split("|")[0]


def _things(asked: Sequence[str]) -> Iterator[_Thing]:
    """Yield the things in the order they are named, with the number and the colour that stand before them."""
    count: int | None = None
    colour: dict[str, str] | None = None
    for word in asked:
        if found := _THINGS.get(word):
            row, usual = found
            yield _Thing(row, count or usual, colour)
        if found or word in _SEPARATE:
            count, colour = None, None
        elif word in _NUMBERS:
            count = _NUMBERS[word]
        else:
            colour = next((row for pattern, row in _COLOUR_WORDS if pattern.fullmatch(word)), colour)


def _fitted(found: Iterator[_Thing]) -> list[_Thing]:
    """Return the first of each kind and colour, no more than there is room for."""
    fitted: list[_Thing] = []
    room = _MAX_DRAWN
    for thing in found:
        known = any(thing.row is each.row and thing.colour is each.colour for each in fitted)
        if known or len(fitted) == _MAX_THINGS or not room:
            continue
        fitted.append(replace(thing, count=min(thing.count, room)))
        room -= fitted[-1].count
    return fitted


def _named(thing: _Thing, language: str) -> str:
    one, several = thing.row[language].split("|")
    name = f"{thing.count} × {several}" if thing.count > 1 else one
    return f"{name} ({thing.colour[language]})" if thing.colour else name


def _background(asked: frozenset[str], things: Sequence[_Thing]) -> str:
    places = {thing.row["place"] for thing in things}
    night, sea = bool(asked & _SCENES["night"]), "water" in places or bool(asked & _SCENES["sea"])
    if places == {"shape"} and not (night or sea):
        return _plain_ground()
    top, low = ("#101b3b", "#3b4a7a") if night else ("#7cc4ee", "#e6f5fb")
    land, near = ("#2c5b86", "#1f4568") if sea and night else ("#3f8fc4", "#2f74a8") if sea else ("#7fb65a", "#69a04a")
    if night and not sea:
        land, near = "#33553a", "#29462f"
    return (
        f'<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="{top}"/>'
        f'<stop offset="1" stop-color="{low}"/></linearGradient></defs>'
        f'<rect width="{SIZE}" height="{SIZE}" fill="url(#sky)"/>'
        f'<path d="M 0 {_HORIZON} Q 260 {_HORIZON - 60} 520 {_HORIZON} T {SIZE} {_HORIZON} V {SIZE} H 0 Z" '
        f'fill="{land}"/>'
        f'<path d="M 0 {_GROUND - 60} Q 300 {_GROUND - 100} 600 {_GROUND - 50} T {SIZE} {_GROUND - 70} V {SIZE} H 0 Z" '
        f'fill="{near}"/>'
    )


def _plain_ground() -> str:
    return f'<rect width="{SIZE}" height="{SIZE}" fill="#f4f1e8"/>'


def _placed(things: Sequence[_Thing]) -> Iterator[str]:
    """Yield the things where they belong: side by side in the sky, and side by side below."""
    sky = [thing for thing in things for _ in range(thing.count) if thing.row["place"] == "sky"]
    below = [thing for thing in things for _ in range(thing.count) if thing.row["place"] != "sky"]
    shapes = not sky and all(thing.row["place"] == "shape" for thing in below)
    for row, y, zoom in ((sky, 210, 1.0), (below, 700 if shapes else _GROUND, 3.0 if shapes else 1.7)):
        width = (SIZE - 2 * _MARGIN) / max(1, len(row))
        scale = round(min(zoom, width / 240), 2)
        for number, thing in enumerate(row):
            drop = 60 * (number % 2) if not shapes else 0
            yield _drawn(thing, round(_MARGIN + width * (number + 0.5)), y + drop, scale)


def _drawn(thing: _Thing, x: int, y: int, scale: float) -> str:
    colour = thing.colour["value"] if thing.colour else thing.row["colour"]
    shape = thing.row["svg"].replace("{colour}", colour)
    return f'<g transform="translate({x} {y}) scale({scale})">{shape}</g>'


def _sign(lines: Sequence[str]) -> str:
    """Return a wooden sign with the lines of a text on it."""
    top = 512 - 40 * len(lines)
    rows = "".join(
        f'<text x="512" y="{top + 80 * number + 55}" text-anchor="middle" font-family="sans-serif" font-size="56" '
        f'fill="#3b2a1a">{html.escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        '<rect x="490" y="500" width="44" height="420" fill="#8a5a36"/>'
        f'<rect x="90" y="{top - 40}" width="844" height="{80 * len(lines) + 80}" rx="24" fill="#d9b382" '
        f'stroke="#8a5a36" stroke-width="12"/>{rows}'
    )


def _lines(text: str) -> list[str]:
    """Return a text as the few lines there is room for on a sign."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > _SIGN_LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()[:_SIGN_LINE]
    shown = [line for line in lines if line][:_SIGN_LINES] or ["…"]
    return shown if len(lines) <= _SIGN_LINES else [*shown[:-1], f"{shown[-1][: _SIGN_LINE - 1]}…"]


def _svg(title: str, *parts: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}"><title>{html.escape(title)}</title>'
        f"{''.join(parts)}</svg>"
    )
