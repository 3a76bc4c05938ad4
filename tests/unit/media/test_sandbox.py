"""The process in which files are worked on: what it cannot do, and that the bot is left as it was."""

from __future__ import annotations

import asyncio
import os
from errno import EACCES, EMFILE
from pathlib import Path
from typing import Any, NoReturn

import pytest

from media.jobs import MediaJobs
from media.landlock import known_version
from media.sandbox import Sandbox
from media.worker import Job
from memory.errors import MediaFailed, Refused
from memory.media import Attachment

JOB = Job("tests.unit.media.misbehaving", megabytes=128, cpu_seconds=1)
DENIED = f"PermissionError {EACCES}"
SECRET = b"the diary of Juno"


async def act(name: str, data: bytes = b"", job: Job = JOB) -> Any:
    result, _ = await Sandbox().run(job, {"act": name}, data)
    return result["result"]


async def costly(name: str, job: Job = JOB) -> bool:
    with pytest.raises(Refused) as caught:
        await act(name, job=job)
    return caught.value.text_id == "file-too-costly"


async def started(before: set[str], n: int) -> None:
    """Wait until there are n processes more than before."""
    while len(children() - before) < n:  # noqa: ASYNC110 - the kernel tells nobody
        await asyncio.sleep(0.001)


def children() -> set[str]:
    """The processes that this one has started and that are not gone, zombies too."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


async def test_nothing_can_be_opened_while_a_file_is_worked_on() -> None:
    came_of = await act("reach_out")
    ways = ("read", "write", "socket", "pair", "pipe", "duplicate", "program", "import")
    assert came_of == dict.fromkeys(ways, f"OSError {EMFILE}")


@pytest.mark.skipif(known_version() < 1, reason="this kernel has no Landlock")
async def test_no_file_can_be_removed_nor_renamed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"here")
    assert await act("tamper", str(kept).encode()) == dict.fromkeys(("rename", "truncate", "remove"), DENIED)
    assert kept.read_bytes() == b"here"


@pytest.mark.skipif(known_version() < 1, reason="this kernel has no Landlock")
async def test_a_job_with_files_of_its_own_reads_no_others(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(SECRET)
    came_of, _ = await Sandbox().run(Job("tests.unit.media.reading"), {}, str(other).encode())
    too_many = f"OSError {EMFILE}"
    assert came_of == {"own": "done", "other": DENIED, "again": "done", "both": too_many, "write": DENIED}


async def test_the_limits_are_set_for_good() -> None:
    limits = await act("limits")
    memory = limits.pop("RLIMIT_AS")
    assert memory[0] == memory[1]
    assert 128 << 20 < memory[0] < 256 << 20
    assert limits == {
        "RLIMIT_CPU": [1, 1],
        "RLIMIT_FSIZE": [0, 0],
        "RLIMIT_NPROC": [0, 0],
        "RLIMIT_CORE": [0, 0],
        "RLIMIT_NOFILE": [4, 4],
    }


async def test_nothing_of_the_bots_surroundings_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", "/tmp")
    found = await act("surroundings")
    assert set(found["environment"]) <= {"LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"}
    assert (found["folder"], found["nice"], found["session"]) == ("/", min(os.nice(0) + 10, 19), True)
    assert "/tmp" not in found["path"]


@pytest.mark.parametrize("name", ["hoard", "hoard_outside_python", "recurse", "flood", "crash"])
async def test_what_takes_too_much_is_refused_and_leaves_no_process(name: str) -> None:
    before = children()
    assert await costly(name)
    assert children() == before


async def test_what_computes_without_end_is_ended() -> None:
    assert await costly("compute")


async def test_what_waits_without_end_is_ended() -> None:
    before = children()
    assert await costly("dawdle", Job(JOB.module, wall_seconds=0.5))
    assert children() == before


async def test_a_refusal_of_a_job_comes_with_its_values() -> None:
    with pytest.raises(Refused) as caught:
        await act("refuse")
    assert (caught.value.text_id, caught.value.values) == ("picture-damaged", {"name": "ü", "n": 3})


@pytest.mark.parametrize(("name", "error"), [("fail", "ValueError"), ("panic", "PanicException")])
async def test_a_fault_is_named_by_type_and_place_and_not_in_words_of_the_file(
    name: str, error: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with pytest.raises(MediaFailed, match=rf"met {error} at .*misbehaving\.py:\d+") as caught:
        await act(name, SECRET)
    assert SECRET.decode() not in str(caught.value) + caplog.text + "".join(capfd.readouterr())


async def test_what_libraries_print_is_not_taken_for_the_answer(capfd: pytest.CaptureFixture[str]) -> None:
    assert await act("chatter") == "done"
    assert capfd.readouterr() == ("", "")


async def test_a_process_that_breaks_is_no_fault_of_the_file() -> None:
    with pytest.raises(MediaFailed, match="ended with 3"):
        await act("leave")


@pytest.mark.parametrize(
    "answer",
    [b"no JSON", b"[1]", b"[" * 100_000, b'{"result": ' + b"1" * 5_000 + b"}", b'{"refused": "picture-damaged"}'],
    ids=["no JSON", "a list", "a deep list", "a long number", "half a refusal"],
)
async def test_an_answer_that_no_job_gives_is_a_fault_told(answer: bytes) -> None:
    """A file that has taken the process over may answer anything."""
    with pytest.raises(MediaFailed, match="answered what it never answers"):
        await act("speak", answer + b"\n")


@pytest.mark.parametrize(
    ("told", "made"),
    [
        ({}, b"[]"),
        ({"title": 1, "media_type": "", "width": "1", "height": 1, "blurhash": ""}, b"[]"),
        *(({"title": "", "media_type": ""}, made) for made in (b"", b"[1]", b'{"a": 1}', b"[" * 100_000)),
    ],
)
async def test_what_is_no_picture_and_no_document_is_a_fault_told(told: dict[str, Any], made: bytes) -> None:
    class Told(Sandbox):
        async def run(self, *_: object) -> tuple[dict[str, Any], bytes]:
            return told, made

    jobs = MediaJobs(Told())
    for asked in (jobs.picture(b""), jobs.rasterise(""), jobs.document(Attachment("", "", b""), 1)):
        with pytest.raises(MediaFailed, match="answered with no"):
            await asked


@pytest.mark.skipif(os.getuid() != 0, reason="nobody else's process can start another")
async def test_what_a_process_leaves_behind_is_ended_with_it() -> None:
    assert await costly("leave_another", Job(JOB.module, wall_seconds=0.5))


async def test_a_filter_of_system_calls_that_forbids_too_much_is_named() -> None:
    with pytest.raises(MediaFailed, match="filter of system calls"):
        await act("filtered")


async def test_a_job_that_cannot_be_loaded_says_so() -> None:
    with pytest.raises(MediaFailed, match=r"ended with 1: [\s\S]*No module named 'media\.nowhere'"):
        await Sandbox().run(Job("media.nowhere"), {}, bytes(1_000_000))


async def test_a_process_that_cannot_be_started_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(MediaFailed, match="no process could be started"):
        await act("give_back")


async def test_a_process_whose_end_cannot_be_waited_for_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_thread(*_: object, **__: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", no_thread)
    with pytest.raises(MediaFailed, match="no process could be started"):
        await act("give_back")


async def test_much_goes_in_and_much_comes_out() -> None:
    data = os.urandom(10_000_000)
    result, made = await Sandbox().run(JOB, {"act": "give_back"}, data)
    assert result == {"result": len(data)}
    assert made == data[::-1]


async def test_a_cancelled_job_leaves_no_process() -> None:
    before = children()
    task = asyncio.create_task(act("dawdle"))
    await started(before, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() == before


async def test_no_more_jobs_run_at_once_than_may_and_a_cancelled_one_gives_its_place_back() -> None:
    sandbox = Sandbox(at_once=2)
    before = children()
    tasks = [asyncio.create_task(sandbox.run(JOB, {"act": "dawdle"}, b"")) for _ in range(4)]
    await started(before, 2)
    assert await act("chatter") == "done"  # time enough for a third, had it been started
    assert len(children() - before) == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert children() == before
    assert (await sandbox.run(JOB, {"act": "give_back"}, b"ab"))[1] == b"ba"
