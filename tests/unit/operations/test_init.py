"""What `davenport init` leaves alone; its whole way is in tests/e2e/test_operations.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from davenport.init import Request, init
from memory.errors import MatrixError, SettingsError

GIVEN = {"matrix.homeserver": "http://127.0.0.1:1", "matrix.user_id": "@bot:hs", "llm.provider": "anthropic"}


class Person:
    """Answers every question alike and remembers them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, question: str, *, default: str | None = None, hidden: bool = False) -> str:
        self.asked.append(question)
        return "sesame"


def request(folder: Path, person: Person, *, force: bool = False, **given: str) -> Request:
    return Request(folder / "config.toml", GIVEN | given, person, person.asked.append, force)


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_file_that_is_not_its_own_draft_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "config.toml.new").write_text("mine", encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"{tmp_path}/config\.toml: matrix\.homeserver must be"):
        await init(request(tmp_path, Person(), **{"matrix.homeserver": "http://a:b@c"}), {})
    assert names(tmp_path) == ["config.toml.new"]
    assert (tmp_path / "config.toml.new").read_text(encoding="utf-8") == "mine"


async def test_a_key_file_is_not_replaced_without_force_and_that_is_said_before_the_login(tmp_path: Path) -> None:
    (tmp_path / "llm.key").write_text("sk-mine", encoding="utf-8")
    person = Person()
    with pytest.raises(SettingsError, match=rf"{tmp_path}/llm\.key is there already; --force replaces it"):
        await init(request(tmp_path, person), {})
    assert person.asked == []
    for wanted, environ in (
        (request(tmp_path, person, force=True), {}),
        (request(tmp_path, person), {"ANTHROPIC_API_KEY": "sk"}),
    ):
        with pytest.raises(MatrixError):  # it went on to the homeserver, which is not there
            await init(wanted, environ)
    assert (tmp_path / "llm.key").read_text(encoding="utf-8") == "sk-mine"


async def test_a_folder_that_is_not_there_is_one_fault(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be written: No such file"):
        await init(request(tmp_path / "nowhere", Person()), {})
