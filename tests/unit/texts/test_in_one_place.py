"""No sentence for people stands anywhere but in texts/, and what stands there is what code says.

Read from the source: what a package holds as literals, and what it asks the catalogue for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from memory.errors import DavenportError
from texts.catalogue import sentences

ROOT = Path(__file__).parents[3]
# davenport/ speaks to operators, llm/ and what is named below of memory/ to the model, index/ and storage/ to nobody;
# person.py and probe.py are clients of their own.
PEOPLE = ("actors", "commands", "matrix", "media", "memory")
NOT_TO_PEOPLE = {
    "memory/drawing.py",
    "memory/kinds.py",
    "memory/prompt.py",
    "memory/seeing.py",
    "memory/persona.py",
    "memory/story.py",
    "matrix/person.py",
    "matrix/probe.py",
}
# Words that are not said: what they begin with, by module.
NOT_SAID = {
    "actors/embedding.py": ("A short text, to learn whether the model answers",),
    "actors/spending.py": ("by llm.prices",),  # for the log
    "commands/page.py": ("# Commands",),  # the head of docs/commands.md
    "matrix/cross_signing.py": ("other clients may refuse",),  # for the log
    "media/sandbox.py": ("import sys", "answered what it never answers"),  # what the new process runs; for the log
    "media/svg.py": ("Noto Sans",),  # the font
    "matrix/formatting.py": ("blockquote caption", "a b br"),  # names of tags
    "media/painter.py": ("; check draw", "check draw"),  # for the log
}
ASKING = {"say", "Refused"}  # calls whose first argument is an id
ALWAYS_KNOWN = {"prefix"}

# Two words that are not capitals only, as arguments of commands are.
_WORDS = re.compile(r"[^\W\d_]+ [^\W\d_]*[^\W\d_A-Z]")


def modules(*packages: str) -> list[Path]:
    return [path for package in packages for path in sorted((ROOT / package).rglob("*.py"))]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(source: str) -> tuple[ast.Module, dict[ast.AST, ast.AST]]:
    tree = ast.parse(source)
    return tree, {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def above(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


def for_operators(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a literal is a docstring, names a task, goes into the log, or into an error that is not for people."""
    if isinstance(parents.get(node), ast.Expr):
        return True
    for outer in above(node, parents):
        if isinstance(outer, ast.keyword) and outer.arg == "name":
            return True
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute):
            target = outer.func.value
            if isinstance(target, ast.Name) and target.id == "log":
                return True
        name = called(outer)
        if name != "Refused" and (name.endswith(("Error", "Failed")) or name in ERRORS):
            return True
    return False


def all_errors(kind: type[DavenportError]) -> set[str]:
    return {kind.__name__} | {name for below in kind.__subclasses__() for name in all_errors(below)}


ERRORS = all_errors(DavenportError) - {"Refused"}


def sentences_in(source: str) -> list[str]:
    """Literals of a module that read like something said to a person."""
    tree, parents = tree_of(source)
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _WORDS.search(node.value)
        and not for_operators(node, parents)
    ]


@pytest.mark.parametrize("path", [each for each in modules(*PEOPLE) if named(each) not in NOT_TO_PEOPLE], ids=named)
def test_no_sentence_for_people_is_hard_coded(path: Path) -> None:
    found = sentences_in(path.read_text("utf-8"))
    assert [text for text in found if not text.startswith(NOT_SAID.get(named(path), ()))] == []


@pytest.mark.parametrize(
    "source",
    [
        'told = "Something went wrong."',
        'raise Refused("You cannot do that.")',
        'return f"Saved as {memory.id}, as you wished."',
        'async with answering(parts, system, event, Said("try again later")):\n    pass',
        "SORRY = 'Nicht jetzt'",
    ],
)
def test_the_check_itself_sees_a_sentence(source: str) -> None:
    assert sentences_in(source)


def asked(path: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield the ids a module asks for by a literal, and the values it gives by name."""
    tree, _ = tree_of(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if called(node) not in ASKING or not isinstance(node, ast.Call) or not node.args:
            continue
        for first in ast.walk(node.args[0]):
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, {keyword.arg or "**" for keyword in node.keywords}


def placeholders(text_id: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentences()[text_id].one) if name} - ALWAYS_KNOWN


def test_every_id_asked_for_exists_and_gets_the_values_it_needs() -> None:
    checked = 0
    for path in modules(*PEOPLE, "llm"):
        for text_id, given in asked(path):
            assert text_id in sentences(), f"{named(path)} asks for {text_id}"
            assert "**" in given or placeholders(text_id) <= given, f"{named(path)} gives {given} to {text_id}"
            if sentences()[text_id].many is not None:
                assert "n" in given, f"{named(path)}: {text_id} has a plural"
            checked += 1
    assert checked > 20


def test_no_text_is_left_that_nobody_says() -> None:
    literals = {
        node.value
        for path in modules(*PEOPLE, "llm")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert sorted(sentences().keys() - literals) == []
