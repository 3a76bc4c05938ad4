import json
import logging
from collections.abc import Iterator

import pytest

from davenport import logs
from memory.errors import StorageError

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
        raise StorageError("disk is full")
    except StorageError:
        logging.getLogger("x").exception("could not write")
    (line,) = lines(capsys)
    assert "could not write" in line
    assert "memory.errors.StorageError: disk is full" in line
    assert "in test_a_failure_is_one_line_with_its_traceback" in line


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_traceback_does_not_quote_what_foreign_errors_say(capsys: pytest.CaptureFixture[str], style: str) -> None:
    logs.configure("info", style, ())
    said = "".join(["I live in ", "Rome"])
    try:
        try:
            int(said)
        except ValueError as error:
            raise ExceptionGroup(said, [KeyError(said), error]) from error
    except ExceptionGroup:
        logging.getLogger("x").exception("failed")
    (line,) = lines(capsys)
    assert "live in Rome" not in line
    assert all(kind in line for kind in ("ValueError", "ExceptionGroup", "KeyError", "int(said)"))


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
        raise StorageError(SECRET)
    except StorageError:
        log.exception("in a traceback")
    printed = lines(capsys)
    assert len(printed) == 3
    assert all(logs.MASK in line for line in printed)
    assert "quoted" not in "".join(printed)
    assert "-longer" not in "".join(printed)


def test_a_mask_for_a_few_characters_would_tear_up_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("info", "text", ("x", "bot", "four"))
    logging.getLogger("x").info("the bot has four rooms")
    (line,) = lines(capsys)
    assert line.endswith("x: the bot has ******** rooms")


def test_libraries_are_quiet_below_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("debug", "text", ())
    for name in ("nio.client", "apscheduler.scheduler", "httpx", "httpx2", "faiss.loader"):
        logging.getLogger(name).info("everyday")
        logging.getLogger(name).warning("%s matters", name)
    assert [line.rsplit(": ", 1)[1] for line in lines(capsys)] == [
        "nio.client matters",
        "apscheduler.scheduler matters",
        "httpx matters",
        "httpx2 matters",
        "faiss.loader matters",
    ]


def test_records_below_the_level_are_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("error", "text", ())
    logging.getLogger("x").warning("minor")
    assert lines(capsys) == []
