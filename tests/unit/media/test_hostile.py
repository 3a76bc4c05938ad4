"""Every file of hostile.py is refused in one sentence or made harmless, within the limits, and leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from media.jobs import DOCUMENT, DRAWING, PICTURE, MediaJobs
from media.sandbox import Sandbox
from media.worker import Job
from memory.errors import Refused
from tests.unit.media.hostile import CASES, good, outcome
from tests.unit.media.hostile_drawings import COSTLY, HARMLESS, nested_uses, svg
from tests.unit.media.pdfs import pdf
from texts.catalogue import Speaker

ALONE = [name for name, case in CASES.items() if COSTLY in case.told]
TOGETHER = [name for name in CASES if name not in ALONE]


@pytest.fixture(scope="module")
def found() -> dict[str, Refused | None]:
    """What became of the files that went through one process of each job together."""
    return {}


@pytest.mark.parametrize("name", TOGETHER)
async def test_a_file_made_to_do_harm_does_none(name: str, found: dict[str, Refused | None]) -> None:
    if name not in found:
        found |= await all_of_the_job_of(name)
    expect(name, found[name])


@pytest.mark.parametrize("name", ALONE)
async def test_a_file_made_to_take_long_is_ended(name: str) -> None:
    case = CASES[name]
    case = replace(case, job=replace(case.job, cpu_seconds=1))  # what would go on for minutes
    expect(name, await outcome(case, case.make()))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
async def test_a_file_made_to_do_harm_does_none_in_a_process_of_its_own(name: str) -> None:
    expect(name, await outcome(CASES[name], CASES[name].make()))


async def all_of_the_job_of(name: str) -> dict[str, Refused | None]:
    """Work on every file that is for the same job as this one."""
    job = CASES[name].job
    names = [each for each in TOGETHER if CASES[each].job == job]
    refusals = await all_of(job, [CASES[each].make() for each in names], [CASES[each].arguments for each in names])
    return dict(zip(names, refusals, strict=True))


async def all_of(job: Job, data: list[bytes], arguments: Sequence[Mapping[str, Any]]) -> list[Refused | None]:
    """Work on many files in one process; return of each its refusal, or None."""
    files = [(dict(own), len(each)) for own, each in zip(arguments, data, strict=True)]
    module = "tests.unit.media.together"
    together = replace(job, module=module, megabytes=job.megabytes + 100, cpu_seconds=60, wall_seconds=300.0)
    told, _ = await Sandbox().run(together, {"job": job.module, "files": files}, b"".join(data))
    return [None if text_id is None else Refused(text_id, **values) for text_id, values in told["outcomes"]]


def expect(name: str, refused: Refused | None) -> None:
    told = HARMLESS if refused is None else refused.text_id
    assert told in CASES[name].told
    if refused is not None:
        assert "\n" not in Speaker().refusal(refused)
        assert "\n" not in Speaker("de").refusal(refused)


SMALL: dict[str, tuple[Job, bytes, dict[str, Any]]] = {
    **{form: (PICTURE, good(form, (8, 8)), {}) for form in ("PNG", "JPEG", "GIF", "WEBP")},
    "SVG": (DRAWING, svg("<text>é</text>"), {}),
    **{
        name: (DOCUMENT, data, {"name": name, "media_type": "", "most_chunks": 9})
        for name, data in {
            "a.pdf": pdf([["é"]], title="é"),
            "a.html": "<!DOCTYPE html><title>x</title><ul><li style='a'>é&amp;<!-- c --></ul><pre>y</pre>".encode(),
            "a.md": "\ufeff# é\n\n- *x*\n".encode("utf-16"),
        }.items()
    },
}


@pytest.mark.parametrize("name", SMALL)
async def test_a_file_cut_off_anywhere_is_read_or_refused(name: str) -> None:
    job, data, arguments = SMALL[name]
    lengths = range(len(data))
    found = await all_of(job, [data[:length] for length in lengths], [arguments] * len(data))
    assert found[0] is not None
    assert len(found) == len(lengths)


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
