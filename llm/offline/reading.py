"""What stands in the requests the bot sends: fenced memories, candidates and messages, read back.

The one place that knows their form: `memory.prompt` builds replies, `memory.drawing` what asks for drawings,
`memory.story` parts of stories, `llm.story` their plans, `llm.extraction` extractions, `llm.cleanup` cleanups.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from llm.offline.api import JsonObject
from memory import drawing, story
from memory.kinds import INSTRUCTIONS
from memory.text import Fenced, unfence
from memory.types import TurnKind

_LINE = re.compile(r"^\[(\d+)\](?: \([^)]*\))? (.+)$", re.MULTILINE)
EXTRACTION_FIELDS = frozenset({"new_facts", "reinforced"})
CLEANUP_FIELDS = frozenset({"drops", "merges"})
STORY_FIELDS = frozenset({"title", "parts"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line `[id] (date) text` of a block, and whom or what the block is about."""

    id: int
    text: str
    about: str


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """What an extraction request shows. scene: it was said in one, for the most part in character."""

    memories: tuple[Line, ...]
    candidates: tuple[Line, ...]
    said: str
    scene: bool = False


@dataclass(frozen=True, slots=True)
class CleanupInput:
    """What a cleanup request shows of one group: memories that may go, and protected ones."""

    memories: tuple[Line, ...]
    protected: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class PartInput:
    """What a request for one part of a story shows: what the story is about, and which of its parts is to be told."""

    request: str
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document: the document's title, which of its parts ("2 of 5"), and what it says."""

    title: str
    part: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyInput:
    """What a reply request shows: who said what last, what is remembered, and what may be called.

    kind: of the turn, ASK for all without a word of their own. documents: parts, best first. pictures: how many are
    shown with the message. withheld: it holds or replies to a file or picture that is not shown.
    results: what tool calls just answered, as (arguments, result text, is_error). calls: how many went before.
    """

    sender: str
    said: str
    memories: tuple[Line, ...]
    recalled: tuple[Line, ...]
    tools: frozenset[str]
    results: tuple[tuple[JsonObject, str, bool], ...]
    calls: int
    kind: TurnKind = TurnKind.ASK
    documents: tuple[Part, ...] = ()
    pictures: int = 0
    withheld: bool = False


def is_extraction(body: JsonObject) -> bool:
    """Whether a request asks for an extraction, by the fields of its schema."""
    return _fields(body) == EXTRACTION_FIELDS


def is_cleanup(body: JsonObject) -> bool:
    """Whether a request asks to tidy a group of memories, by the fields of its schema."""
    return _fields(body) == CLEANUP_FIELDS


def is_drawing(body: JsonObject) -> bool:
    """Whether a request asks for a drawing, by its system text."""
    return drawing.SYSTEM_TEXT in _texts(body.get("system", ""))


def read_drawing(body: JsonObject) -> str:
    """Return what a request wants drawn."""
    return _first("description", "\n".join(_texts(body["messages"][0]["content"])))


def is_story(body: JsonObject) -> bool:
    """Whether a request asks for the plan of a story, by the fields of its schema."""
    return _fields(body) == STORY_FIELDS


def read_story(body: JsonObject) -> tuple[str, int, int]:
    """Return what a story is to be about, and how many parts and pictures it may have."""
    text = "\n".join(_texts(body["messages"][-1]["content"]))
    limits = next((each.attributes for each in unfence("limits", text)), {})
    return _first("request", text), _number(limits, "parts"), _number(limits, "pictures")


def is_story_part(body: JsonObject) -> bool:
    """Whether a request asks for one part of a story, by its system text."""
    return story.PART_SYSTEM_TEXT in _texts(body.get("system", ""))


def read_story_part(body: JsonObject) -> PartInput:
    """Read a request for one part of a story."""
    text = "\n".join(_texts(body["messages"][-1]["content"]))
    wanted = next((each.attributes for each in unfence("part", text)), {})
    return PartInput(_first("request", text), _number(wanted, "number"), _number(wanted, "of"))


def _first(tag: str, text: str) -> str:
    return next((each.text for each in unfence(tag, text)), "")


def _number(attributes: dict[str, str], name: str) -> int:
    found = attributes.get(name, "")
    return int(found) if found.isdecimal() else 1


def _fields(body: JsonObject) -> frozenset[str]:
    form = body.get("output_config", {}).get("format", {})
    return frozenset(form.get("schema", {}).get("properties", {}))


def read_extraction(body: JsonObject) -> ExtractionInput:
    """Read an extraction request."""
    text = "\n".join(_texts(body["messages"][-1]["content"]))
    said = unfence("message", text)
    return ExtractionInput(
        memories=_lines(unfence("memories", text)),
        candidates=_lines(unfence("candidates", text)),
        said=said[-1].text if said else "",
        scene=bool(said) and "scene" in said[-1].attributes,
    )


def read_cleanup(body: JsonObject) -> CleanupInput:
    """Read a cleanup request."""
    text = "\n".join(_texts(body["messages"][-1]["content"]))
    return CleanupInput(_lines(unfence("memories", text)), _lines(unfence("protected_memories", text)))


def read_reply(body: JsonObject) -> ReplyInput:
    """Read a reply request."""
    system = "\n".join(_texts(body.get("system", "")))
    turns = [(message["role"], message["content"]) for message in body["messages"]]
    written = "\n".join(text for role, content in turns if role == "user" for text in _texts(content))
    said = unfence("message", written)
    results = _results(turns)
    last_user = next((content for role, content in reversed(turns) if role == "user" and not _is_result(content)), "")
    beside = "\n".join(_texts(last_user))
    choice = body.get("tool_choice", {}).get("type", "auto")
    return ReplyInput(
        sender=said[-1].attributes.get("from", "") if said else "",
        said=said[-1].text if said else written.strip(),
        memories=_lines((*unfence("memories", system), *unfence("memories", beside))),  # there those with tags
        recalled=_lines(unfence("recalled_memories", beside)),
        tools=frozenset(tool["name"] for tool in body.get("tools", ()) if choice != "none"),
        results=results,
        calls=sum(block["type"] == "tool_use" for _, content in turns for block in _blocks(content)),
        kind=_kind(beside),
        documents=tuple(
            Part(each.attributes.get("title", ""), each.attributes.get("part", ""), each.text)
            for each in unfence("document", beside)
        ),
        pictures=sum(block["type"] == "image" for block in _blocks(last_user)),
        withheld=bool({each.text for each in unfence("turn", beside)} - set(INSTRUCTIONS.values())),
    )


def _kind(beside: str) -> TurnKind:
    """Return the kind of a turn by what the operator says of it beside the last message."""
    told = {each.text for each in unfence("turn", beside)}
    return next((kind for kind, text in INSTRUCTIONS.items() if text in told), TurnKind.ASK)


def _blocks(content: str | list[JsonObject]) -> list[JsonObject]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(content: str | list[JsonObject]) -> list[str]:
    return [block["text"] for block in _blocks(content) if block["type"] == "text"]


def _lines(fences: Iterable[Fenced]) -> tuple[Line, ...]:
    return tuple(
        Line(int(number), text, fenced.attributes.get("about", ""))
        for fenced in fences
        for number, text in _LINE.findall(fenced.text)
    )


def _is_result(content: str | list[JsonObject]) -> bool:
    return any(block["type"] == "tool_result" for block in _blocks(content))


def _results(turns: list[tuple[str, str | list[JsonObject]]]) -> tuple[tuple[JsonObject, str, bool], ...]:
    """Return the results the request ends with, each beside the arguments of its call."""
    role, content = turns[-1]
    calls = {block["id"]: block["input"] for _, c in turns for block in _blocks(c) if block["type"] == "tool_use"}
    if role != "user":
        return ()
    return tuple(
        (calls.get(block["tool_use_id"], {}), _result_text(block), bool(block.get("is_error")))
        for block in _blocks(content)
        if block["type"] == "tool_result"
    )


def _result_text(block: JsonObject) -> str:
    return "\n".join(_texts(block.get("content", "")))
