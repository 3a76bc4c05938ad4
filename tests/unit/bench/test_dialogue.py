"""The benchmark of dialogues: where facts are put, what is summed up, what is drawn, and a small run of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench import dialogue, dialogue_days
from bench.dialogue import measure
from bench.dialogue_days import Day, Message, missing, placed
from bench.dialogue_page import Limits, Measured, Run, Sums, page, printed
from bench.dialogue_plot import draw
from memory.model import Usage
from tests.actors.held_bot import WordEmbedder

SVG = "{http://www.w3.org/2000/svg}"
BEGIN = datetime(2026, 3, 1, 9, tzinfo=UTC)
SESSIONS = [
    [Message("Ann", "My cat is called Mochi"), Message("Bob", "I play the piano"), Message("Ann", "Nice")],
    [Message("Bob", "I sold my piano"), Message("Ann", "The cat is ill"), Message("Bob", "Poor cat Mochi")],
]


def test_facts_stand_where_their_speaker_says_them_and_never_go_back_in_time() -> None:
    facts = [
        ("Ann", "Ann has a cat called Mochi"),
        ("Bob", "Bob plays the piano"),
        ("Bob", "Bob sold the piano"),
        ("Ann", "Ann's cat is ill"),
        ("Bob", "Bob plays the piano"),  # said before, but stated after what was said later
        ("Ann", "Something nobody ever said"),
    ]
    places = placed(facts, SESSIONS)
    assert places[:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert places[4] == (1, 0)
    assert [session for session, _ in places] == sorted(session for session, _ in places)
    assert all(
        SESSIONS[session][at].speaker == speaker for (speaker, _), (session, at) in zip(facts, places, strict=True)
    )


def test_tokens_are_summed_and_paid_by_what_was_read_and_written() -> None:
    sums = Sums.of([Usage("m", 100, 5, cache_read_tokens=1_000), Usage("m", 300, 5, cache_write_tokens=600)])
    assert (sums.replies, sums.tokens, sums.each) == (2, 2_000, 1_000)
    assert sums.share_read == 0.5
    assert sums.paid == (100 + 300 + 1_000 * 0.1 + 600 * 1.25) / 2


def a_run(*, decay: bool) -> Run:
    days = [
        Measured(
            Day(name, number + 1, BEGIN + timedelta(days=number), (Message("Ann", "x", ("fact",)),)),
            (Usage("m", 10, 1, cache_read_tokens=90 * number),),
            active=number + 1,
            resting=number if decay else 0,
            recalled=number,
        )
        for name in ("one", "two")
        for number in range(4)
    ]
    return Run(Limits.both()[0], decay, tuple(days))


def test_what_is_drawn_is_what_was_measured() -> None:
    svg = ET.fromstring(draw(a_run(decay=True), a_run(decay=False)))  # noqa: S314 - our own
    lines = list(svg.iter(f"{SVG}polyline"))
    assert len(lines) == 2 * 2 * 2  # tokens and share, by conversation, with decay and without
    assert all(len(str(line.get("points")).split()) == 4 for line in lines)
    bars = [float(str(each.get("height"))) for each in svg.iter(f"{SVG}rect") if each.get("fill") == "#c27803"][:4]
    assert bars[0] == 0
    assert bars[2] == pytest.approx(2 * bars[1], abs=0.2)
    words = [str(each.text) for each in svg.iter(f"{SVG}text")]
    assert {"one", "two", "prompt tokens a reply", "share read from cache", "memories", "resting"} < set(words)


def test_the_tables_have_a_row_for_every_day() -> None:
    runs = [a_run(decay=True), a_run(decay=False)] * 2
    assert printed(runs).count("2026-03-0") == 8
    written = page(runs, "model-1")
    assert written.count("| 2026-03-0") == 8
    assert "8 dated sessions" in written and "`model-1`" in written
    assert "| 4 | 2026-03-04 | 1 | 280 | 280 | 96% | 96% | 37 | 37 | 4 | 3 | 3 |" in written


def test_absent_data_is_said_and_nothing_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dialogue_days, "DATA", tmp_path)
    assert len(missing()) == 2
    dialogue.main()
    assert capsys.readouterr().out.startswith("skipped: dialogue_locomo_dev.json and recall_locomo_dev.json not in ")


async def test_days_are_led_through_the_bot_with_decay_and_without() -> None:
    """A fact rests after seven chat days without it, is recalled on the ninth, and stays active without decay."""
    about = ["my cat is mochi", *["nice weather"] * 8, "and mochi?", "nice weather"]
    days = [
        Day(
            "chat",
            number + 1,
            BEGIN + timedelta(days=number),
            (Message("Ann", said, ("Cat is mochi",) * (number == 0)),),
        )
        for number, said in enumerate(about)
    ]
    embedder = WordEmbedder(["mochi"])
    on, off = [await measure(days, embedder, Limits.both()[1], decay=decay) for decay in (True, False)]
    assert [(each.active, each.resting) for each in on.days] == [*[(1, 0)] * 7, *[(0, 1)] * 2, *[(1, 0)] * 2]
    assert [each.recalled for each in on.days] == [*[0] * 9, 1, 0]
    assert [(each.active, each.resting, each.recalled) for each in off.days] == [(1, 0, 0)] * 11
    assert on.days[8].usage[0].input_tokens + on.days[8].usage[0].cache_write_tokens < 1_500
    assert Sums.of(on.days[8].usage).tokens < Sums.of(off.days[8].usage).tokens
    assert on.sums.replies == off.sums.replies == 11
