"""Which quota a command counts against."""

from __future__ import annotations

import pytest

from commands.dispatcher import CommandDispatcher
from commands.quotas import limit_of, names
from commands.table import ANYONE, TABLE, Row, lines
from commands.values import StartTurn
from memory.quota import DEFAULT, CommandQuota, Limit, per_minutes
from memory.settings import MemorySettings
from tests.unit.commands.test_dispatcher import FixedSettings, UserActorOf

OFTEN, SELDOM, SET = per_minutes(10, user=30), per_minutes(60, user=3), per_minutes(1, user=1)
TOYS = (
    Row(
        "toys",
        "",
        ANYONE,
        "help-help",
        StartTurn,
        below=(
            Row(
                "tidy",
                "",
                ANYONE,
                "help-help",
                StartTurn,
                quota=SELDOM,
                below=(Row("all", "", ANYONE, "help-help", StartTurn),),
            ),
            Row("show", "", ANYONE, "help-help", StartTurn),
        ),
        quota=OFTEN,
    ),
    Row("books", "", ANYONE, "help-help", StartTurn, below=(Row("lend", "", ANYONE, "help-help", StartTurn),)),
)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("toys", Limit("toys", OFTEN)),
        ("toys show", Limit("toys", OFTEN)),
        ("toys tidy", Limit("toys tidy", SELDOM)),
        ("toys tidy all", Limit("toys tidy", SELDOM)),
        ("books", Limit("books", DEFAULT)),
        ("books lend", Limit("books", DEFAULT)),
        ("code", Limit("code", DEFAULT)),
    ],
)
def test_the_nearest_quota_on_the_path_holds(name: str, limit: Limit) -> None:
    assert limit_of(name, TOYS) == limit


def test_what_is_set_goes_before_the_default_of_the_same_command_and_of_those_above() -> None:
    configured: dict[str, CommandQuota] = {"toys show": SET, "toys tidy": CommandQuota()}
    assert limit_of("toys show", TOYS, configured.get) == Limit("toys show", SET)
    assert limit_of("toys tidy all", TOYS, configured.get) == Limit("toys tidy", CommandQuota())
    assert limit_of("toys", TOYS, configured.get) == Limit("toys", OFTEN)


def test_names_go_with_usages() -> None:
    assert [*names(TOYS[0])] == ["toys", "toys tidy", "toys tidy all", "toys show"]
    for row in TABLE:
        usages = [usage for usage, _ in lines(row, "!")]
        assert [usage.removeprefix("!").startswith(name) for usage, name in zip(usages, names(row), strict=True)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("!ask how are you", "ask"),
        ("!MEMORIES Delete 3", "memories del"),
        ("!memories", "memories"),
        ("!memories del", "help"),
        ("!nonsense", "help"),
    ],
)
def test_every_command_has_the_name_of_its_path(text: str, name: str) -> None:
    recognised = CommandDispatcher(UserActorOf(), FixedSettings(MemorySettings())).recognise(text, meant=True)
    assert recognised is not None
    assert recognised.name == name
