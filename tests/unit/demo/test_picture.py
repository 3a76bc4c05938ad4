"""The picture shows what the rows hold, and is well-formed whatever people write."""

from xml.etree import ElementTree as ET

from davenport.demo.picture import COLOURS, draw
from davenport.demo.play import Played
from davenport.demo.script import Line
from davenport.demo.show import Row

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</text><script>&\"'"


def day(number: int, *rows: Row, said: str = "Hi", recalled: tuple[str, ...] = ()) -> Played:
    return Played(number, (Line(who="ana", text=said),), recalled, rows)


def drawn(*days: Played) -> ET.Element:
    return ET.fromstring(draw("Ana's dog", days, 7))  # noqa: S314 - our own text


def texts(svg: ET.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def test_each_day_shows_stage_or_state_unused_days_and_words() -> None:
    fact = "Dog is named Rex"
    svg = drawn(
        day(1, Row("ana", fact, "candidate", 1), said="My dog is Rex"),
        day(2, Row("ana", fact, "memory", 2, 0, "active")),
        day(10, Row("ana", fact, "memory", 2, 7, "resting")),
        day(11, Row("ana", fact, "memory", 2, 0, "active"), recalled=(fact,)),
    )
    shown = texts(svg)
    assert [text for text in shown if text in COLOURS] == ["candidate", "active", "resting", "active"]
    assert [text for text in shown if text.isdigit()] == ["0", "7", "0"]
    assert [text for text in shown if text.startswith("day ")] == ["day 1", "day 2", "day 10", "day 11"]
    assert {"7 days", "no talk", "recalled", f"ana: {fact}", "ana: My dog is Rex", "rests from 7"} <= set(shown)
    bars = [r for r in svg.iter(f"{SVG}rect") if r.get("fill") == COLOURS["resting"] and r.get("height") != "20"]
    assert [bar.get("height") for bar in bars] == ["77"]


def test_what_people_write_is_text_and_stays_inside() -> None:
    svg = drawn(day(1, Row("ana", HOSTILE, "candidate", 1), said="長い話" * 60))
    assert f"ana: {HOSTILE}" in texts(svg)
    assert not list(svg.iter(f"{SVG}script"))
    left = min(float(text.get("x", "0")) for text in svg.iter(f"{SVG}text"))
    assert left > 0
    assert float(svg.get("height", "0")) > 180 * 2 * 6 * 0.7  # 180 wide characters at 45 degrees


def test_days_on_which_nothing_is_remembered_are_drawn_too() -> None:
    assert "day 1" in texts(drawn(day(1)))
