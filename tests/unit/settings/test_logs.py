import json
import logging
from collections.abc import Iterator

import pytest

from davenport import logs

SECRET = 'sk-"quoted"-secret'


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_a_record_is_one_line_with_its_ids(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text", ())
    logging.getLogger("actors.room").info("turn of %s", "$event", extra={"room": "!r:a.org"})
    (line,) = lines(capsys)
    assert line.split("Z ", 1)[1] == "INFO actors.room: turn of $event room=!r:a.org"


def test_nobody_can_forge_a_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text", ())
    logging.getLogger("x").warning("name is %s", "a\n2026-01-01 INFO forged\x1b[2J\u2028")
    (line,) = lines(capsys)
    assert "\\n2026-01-01 INFO forged\\x1b[2J\\u2028" in line


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_failure_is_one_line_with_its_traceback(capsys: pytest.CaptureFixture[str], style: str) -> None:
    logs.configure("info", style, ())
    try:
        raise OSError("disk is full")
    except OSError:
        logging.getLogger("x").exception("could not write")
    (line,) = lines(capsys)
    assert "could not write" in line
    assert "OSError: disk is full" in line


def test_json_lines_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", "json", ())
    logging.getLogger("x").debug("sent", extra={"event": "$é", "part": 2})
    (line,) = lines(capsys)
    record = json.loads(line)
    assert record.pop("time").endswith("Z")
    assert record == {"level": "debug", "logger": "x", "message": "sent", "event": "$é", "part": 2}


@pytest.mark.parametrize("style", ["text", "json"])
def test_secrets_are_masked_wherever_they_stand(capsys: pytest.CaptureFixture[str], style: str) -> None:
    logs.configure("info", style, (SECRET, SECRET + "-longer", ""))
    log = logging.getLogger("x")
    log.info("in the arguments: %s", SECRET)
    log.info("in a field", extra={"key": SECRET + "-longer"})
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.exception("in a traceback")
    printed = lines(capsys)
    assert len(printed) == 3
    assert all(logs.MASK in line for line in printed)
    assert "quoted" not in "".join(printed)
    assert "-longer" not in "".join(printed)


def test_libraries_are_quiet_below_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", "text", ())
    for name in ("nio.client", "apscheduler.scheduler", "httpx", "httpx2"):
        logging.getLogger(name).info("everyday")
        logging.getLogger(name).warning("%s matters", name)
    assert [line.rsplit(": ", 1)[1] for line in lines(capsys)] == [
        "nio.client matters",
        "apscheduler.scheduler matters",
        "httpx matters",
        "httpx2 matters",
    ]


def test_records_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("error", "text", ())
    logging.getLogger("x").warning("minor")
    assert lines(capsys) == []
