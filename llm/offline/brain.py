"""The brain of the offline server, and the server with it."""

from __future__ import annotations

import asyncio
import json

from llm.offline.api import Answered, JsonObject, Request, refused, text_block
from llm.offline.drawing import draw
from llm.offline.extractor import extract
from llm.offline.reading import (
    is_cleanup,
    is_drawing,
    is_extraction,
    is_story,
    is_story_part,
    read_cleanup,
    read_drawing,
    read_extraction,
    read_reply,
    read_story,
    read_story_part,
)
from llm.offline.replies import language_of, reply
from llm.offline.server import MessagesServer
from llm.offline.storyteller import part, plan
from llm.offline.tidier import tidy
from llm.offline.usage import PromptCache


class OfflineBrain:
    """Answers extractions, cleanups, replies, drawings and stories by rules; it keeps no state between requests."""

    async def __call__(self, request: Request) -> Answered:
        """Answer one request. The work is done in a thread, so that a long message delays nobody else."""
        return await asyncio.to_thread(_answer, request.body)


class OfflineServer(MessagesServer):
    """`llm.provider = "offline"`: start it, point the client's base URL at it, give it any key.

    cache: what its usage counts come from; None: one that goes by the machine's clock.
    """

    def __init__(self, cache: PromptCache | None = None) -> None:
        super().__init__(OfflineBrain(), cache)


def _answer(body: JsonObject) -> Answered:
    structured = _structured(body)
    if structured is not None:
        return Answered((text_block(json.dumps(structured, ensure_ascii=False)),))
    if is_drawing(body):
        description = read_drawing(body)
        return Answered((text_block(draw(description, language_of(description))),))
    if is_story_part(body):
        shown = read_story_part(body)
        return Answered((text_block(part(shown, language_of(shown.request))),))
    return reply(read_reply(body))


def _structured(body: JsonObject) -> JsonObject | None:
    """Answer a request for JSON; None: it is for none. Raises ApiFault where its schema is unknown."""
    if is_extraction(body):
        found = extract(read_extraction(body))
        return {"new_facts": list(found.new_facts), "reinforced": list(found.reinforced)}
    if is_cleanup(body):
        drops = [{"id": dropped, "survivor": survivor} for dropped, survivor in tidy(read_cleanup(body))]
        return {"drops": drops, "merges": []}
    if is_story(body):
        request, parts, pictures = read_story(body)
        return plan(request, parts, pictures, language_of(request))
    if body.get("output_config", {}).get("format"):
        raise refused("output_config.format: the offline server has no answer for this schema")
    return None
