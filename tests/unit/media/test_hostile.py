"""Every file of hostile.py is refused in one sentence or made harmless, within the limits, and leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import pytest

from media.jobs import MediaJobs
from memory.errors import Refused
from tests.unit.media.hostile import CASES, COSTLY, HARMLESS, good, nested_uses, outcome, svg
from texts.catalogue import Speaker


@pytest.mark.parametrize("name", CASES)
async def test_a_file_made_to_do_harm_does_none(name: str) -> None:
    case = CASES[name]
    if COSTLY in case.told:
        case = replace(case, job=replace(case.job, cpu_seconds=1))  # what would go on for minutes
    refused = await outcome(case, case.make())
    told = HARMLESS if refused is None else refused.text_id
    assert told in case.told
    if refused is not None:
        assert "\n" not in Speaker().refusal(refused)
        assert "\n" not in Speaker("de").refusal(refused)


async def test_a_good_file_works_right_after_bad_ones() -> None:
    jobs = MediaJobs()
    for bad in (svg(nested_uses()), svg("<script/>"), b"\xff"):
        with pytest.raises(Refused):
            await jobs.rasterise(bad.decode(errors="replace"))
        with pytest.raises(Refused):
            await jobs.picture(bad)
    drawn = await jobs.rasterise(svg('<rect width="9" height="9"/>').decode())
    seen = await jobs.picture(good("JPEG"))
    assert (drawn.info.width, drawn.info.height) == (1_024, 1_024)
    assert (seen.info.width, seen.info.height) == (200, 100)
