"""A faulty demo script is answered by one clear line a fault."""

from pathlib import Path

import pytest

from davenport.demo.script import read
from memory.errors import SettingsError

HEAD = 'title = "t"\npeople = ["ana"]\n'
DAY = '[[day]]\nsay = [{ who = "ana", text = "Hi" }]\n'


def faults_of(path: Path) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        read(path)
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    return [line.removeprefix(f"{path}: ") for line in lines]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["title is missing", "people is missing", "day is missing; give at least one part headed [[day]]"]),
        (HEAD, ["day is missing"]),
        (HEAD + "day = []", ["day must be at least one part headed [[day]]"]),
        (HEAD + "day = [3]", ["[[day]] number 1 must be a part headed [[day]]"]),
        (HEAD + "[day]\nsay = []", ["day must be at least one part headed [[day]]"]),
        (HEAD + DAY + "[[day]]\nsay = []", ["[[day]] number 2: say must be a list of at least one"]),
        (
            HEAD + DAY + '[[day]]\nsay = [{ who = "ana" }]',
            ["[[day]] number 2, say number 1: text is missing; give the words of the message"],
        ),
        (HEAD + '[[day]]\nsay = ["Hi"]', ["[[day]] number 1, say number 1 must be written { who = …, text = … }"]),
        (
            HEAD + DAY + 'expect = [{ who = "ana", contains = "x", stage = "fact", mention = 1 }]',
            [
                '[[day]] number 1, expect number 1: stage must be "candidate" or "memory"',
                "[[day]] number 1, expect number 1: mention is not known here; did you mean mentions?; allowed are",
            ],
        ),
        (HEAD + DAY + "after_days = 0", ["[[day]] number 1: after_days must be a whole number from 1 to 365"]),
        (HEAD.replace('"ana"', '"ana", "B Ob"') + DAY, ["people number 2 must be a name of small letters"]),
        (
            HEAD + DAY + 'expect = [{ who = "zoe", contains = "x" }, { who = "zoe", contains = "y" }]',
            ['[[day]] number 1, expect number 1: "zoe" is not one of the people; add the name to people'],
        ),
        ("title = ", ["is not TOML: "]),
    ],
)
def test_each_fault_is_one_line_with_place_and_remedy(tmp_path: Path, text: str, faults: list[str]) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text, "utf-8")
    found = faults_of(path)
    assert len(found) == len(faults), found
    for line, start in zip(found, faults, strict=True):
        assert line.startswith(start)


def test_a_script_that_cannot_be_read_is_named_without_a_number(tmp_path: Path) -> None:
    assert faults_of(tmp_path / "none.toml") == ["there is no such file; give --script the path of a demo script"]
    assert faults_of(tmp_path) == ["cannot be read: Is a directory"]
    (tmp_path / "latin.toml").write_bytes("title = 'é'".encode("latin-1"))
    assert faults_of(tmp_path / "latin.toml") == ["is not UTF-8 text"]


def test_the_built_in_script_is_without_fault() -> None:
    assert read(None).people == ("juno", "bau")
