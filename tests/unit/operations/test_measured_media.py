"""Work on pictures and documents is counted by how it ended, and timed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from actors.media_ports import Media, Painter
from davenport.measured_media import MeasuredMedia, MeasuredPainter
from davenport.metrics import PrometheusMetrics
from davenport.panel import Panel
from memory.documents import ReadDocument
from memory.errors import DavenportError, MediaFailed, ModelError, Refused
from memory.media import Attachment, Picture, PictureInfo
from tests.unit.operations.test_metrics import samples

PICTURE = Picture("image/png", b"png", PictureInfo(1, 1, "hash"))
FILE = Attachment("a.txt", "text/plain", b"text")


class Scripted:
    """Satisfies Media and Painter: does what it is asked, or raises."""

    def __init__(self, error: DavenportError | None = None) -> None:
        self.error = error
        self.asked: list[object] = []

    async def rasterise(self, svg: str) -> Picture:
        self._note(svg)
        return PICTURE

    async def picture(self, data: bytes) -> Picture:
        self._note(data)
        return PICTURE

    async def document(self, file: Attachment, most_chunks: int) -> ReadDocument:
        self._note((file, most_chunks))
        return ReadDocument("title", ("chunk",))

    async def paint(self, description: str) -> bytes:
        self._note(description)
        return b"painted"

    def _note(self, asked: object) -> None:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error


async def test_what_is_asked_and_answered_is_passed_on() -> None:
    scripted, metrics = Scripted(), PrometheusMetrics()
    media: Media = MeasuredMedia(scripted, metrics)
    painter: Painter = MeasuredPainter(scripted, metrics)
    assert await media.rasterise("<svg/>") is PICTURE
    assert await media.picture(b"data") is PICTURE
    assert (await media.document(FILE, 7)).chunks == ("chunk",)
    assert await painter.paint("a cat") == b"painted"
    assert scripted.asked == ["<svg/>", b"data", (FILE, 7), "a cat"]


JOBS: dict[str, Callable[[Media, Painter], Awaitable[object]]] = {
    "svg": lambda media, _: media.rasterise("<svg/>"),
    "picture": lambda media, _: media.picture(b"data"),
    "document": lambda media, _: media.document(FILE, 7),
    "paint": lambda _, painter: painter.paint("a cat"),
}
OUTCOMES: dict[str, DavenportError | None] = {
    "done": None,
    "refused": Refused("picture-damaged"),
    "failed": MediaFailed("no process"),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("job", JOBS)
async def test_a_job_is_counted_by_how_it_ended_and_timed(panel: Panel, job: str, outcome: str) -> None:
    error = OUTCOMES[outcome]
    if job == "paint" and outcome != "done":
        error, outcome = ModelError("down"), "failed"
    scripted, metrics = Scripted(error), PrometheusMetrics()
    work = JOBS[job](MeasuredMedia(scripted, metrics), MeasuredPainter(scripted, metrics))
    if error is None:
        await work
    else:
        with pytest.raises(type(error)):
            await work
    found = await samples(metrics, panel)
    jobs = {name[1:]: value for name, value in found.items() if name[0] == "davenport_media_jobs_total"}
    assert jobs == {(job, outcome): 1}
    assert found["davenport_media_seconds_count", job] == 1
