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
    read_cleanup,
    read_drawing,
    read_extraction,
    read_reply,
)
from llm.offline.replies import language_of, reply
from llm.offline.server import MessagesServer
from llm.offline.tidier import tidy
from llm.offline.usage import PromptCache


class OfflineBrain:
    """Answers extractions, cleanups, replies and drawings by rules; it keeps no state between requests."""

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
    if is_extraction(body):
        found = extract(read_extraction(body))
        content = {"new_facts": list(found.new_facts), "reinforced": list(found.reinforced)}
        return Answered((text_block(json.dumps(content, ensure_ascii=False)),))
    if is_cleanup(body):
        drops = [{"id": dropped, "survivor": survivor} for dropped, survivor in tidy(read_cleanup(body))]
        return Answered((text_block(json.dumps({"drops": drops, "merges": []})),))
    if body.get("output_config", {}).get("format"):
        raise refused("output_config.format: the offline server has no answer for this schema")
    if is_drawing(body):
        description = read_drawing(body)
        return Answered((text_block(draw(description, language_of(description))),))
    return reply(read_reply(body))
