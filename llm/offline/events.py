"""A message as the API sends it: whole, or as the server-sent events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from llm.offline.api import Answered, JsonObject, Spent
from llm.offline.usage import count_tokens, cut_to

_PIECE = 24  # characters of text, or of a tool's arguments, in one event


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer as it goes out: cut to max_tokens, counted and named."""

    id: str
    model: str
    answer: Answered
    spent: Spent
    output_tokens: int

    def body(self) -> JsonObject:
        """Return the message object of an answer that is not streamed."""
        return {
            **self._head(),
            "content": list(self.answer.content),
            "stop_reason": self.answer.stop_reason,
            "usage": self.spent.body(self.output_tokens),
        }

    def events(self) -> Iterator[bytes]:
        """Yield the events of a stream, in order."""
        start = {**self._head(), "content": [], "stop_reason": None, "usage": self.spent.body(1)}
        yield sse({"type": "message_start", "message": start})
        yield sse({"type": "ping"})
        for index, block in enumerate(self.answer.content):
            yield from _block_events(index, block)
        delta = {"stop_reason": self.answer.stop_reason, "stop_sequence": None}
        usage = self.spent.body(self.output_tokens)
        yield sse({"type": "message_delta", "delta": delta, "usage": usage})
        yield sse({"type": "message_stop"})

    def _head(self) -> JsonObject:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "stop_sequence": None,
        }


def finish(message_id: str, body: JsonObject, answer: Answered, spent: Spent) -> Finished:
    """Cut an answer to the request's max_tokens and count it."""
    left = int(body["max_tokens"])
    kept: list[JsonObject] = []
    for block in answer.content:
        needed = count_tokens(_weight(block))
        if needed > left:
            if block["type"] == "text" and left:
                kept.append({**block, "text": cut_to(block["text"], left)})
            return Finished(message_id, body["model"], Answered(tuple(kept), "max_tokens"), spent, body["max_tokens"])
        kept.append(block)
        left -= needed
    return Finished(message_id, body["model"], answer, spent, int(body["max_tokens"]) - left)


def sse(event: JsonObject) -> bytes:
    """Return one server-sent event named by its type."""
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _weight(block: JsonObject) -> str:
    return str(block["text"]) if block["type"] == "text" else json.dumps(block.get("input"), ensure_ascii=False)


def _block_events(index: int, block: JsonObject) -> Iterator[bytes]:
    if block["type"] == "text":
        empty, whole, kind, key = {**block, "text": ""}, block["text"], "text_delta", "text"
    else:
        empty, whole = {**block, "input": {}}, json.dumps(block["input"], ensure_ascii=False)
        kind, key = "input_json_delta", "partial_json"
    yield sse({"type": "content_block_start", "index": index, "content_block": empty})
    for at in range(0, len(whole), _PIECE):
        piece = {"type": kind, key: whole[at : at + _PIECE]}
        yield sse({"type": "content_block_delta", "index": index, "delta": piece})
    yield sse({"type": "content_block_stop", "index": index})
