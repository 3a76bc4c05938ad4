"""`!why`: what the last answer to the caller was given: memories, parts of documents, a picture."""

from __future__ import annotations

from collections.abc import Iterator

from actors.why import GivenMemory, Why, WhyLast
from commands.order import Handlers, Order
from commands.values import ShowWhy
from memory.documents import Chunk
from memory.types import Memory, ScopeKind, Source, TurnKind
from texts.catalogue import Speaker
from texts.markdown import escape

handlers = Handlers()

_BY = {  # ids of texts
    Source.PROMOTION: "why-by-promotion",
    Source.TOOL: "why-by-tool",
    Source.COMMAND: "why-by-command",
    Source.IMPORT: "why-by-import",
    Source.MERGE: "why-by-merge",
}
_KINDS = {  # ids of texts
    TurnKind.CODE: "why-code",
    TurnKind.VERSE: "why-verse",
    TurnKind.DRAW: "why-draw",
    TurnKind.STORY: "why-story",
}


@handlers.on(ShowWhy)
async def show(command: ShowWhy, order: Order) -> str:
    """Say what the last answer to the caller in this room, or in this thread, was given."""
    caller = order.caller
    why = await order.system.ask(order.me, WhyLast(caller.conversation, caller.heard, caller.thread_root))
    if why is None:
        return order.say("why-no-answer")
    return "\n\n".join(_parts(order.say, why, order.room_id))


def _parts(say: Speaker, why: Why, room_id: str) -> Iterator[str]:
    """Yield the paragraphs: the kind where it is no ordinary answer, memories, documents, pictures."""
    if why.turn in _KINDS:
        yield say(_KINDS[why.turn])
    if why.turn.remembers:
        yield from _memories(say, why, room_id)
    if why.chunks:
        yield say("why-documents", n=len(why.chunks))
        yield "\n".join(f"- {_part(say, chunk)}" for chunk in why.chunks)
    if why.chunks_gone:
        yield say("why-documents-gone", n=why.chunks_gone)
    if why.picture:
        yield say("why-picture")


def _memories(say: Speaker, why: Why, room_id: str) -> Iterator[str]:
    if why.no_memories:
        yield say("why-nothing")
        return
    if all(each.recalled for each in why.memories) and (why.memories or not why.others):
        yield say("why-about")
    for text_id, recalled in (("why-given", False), ("why-recalled", True)):
        some = [each for each in why.memories if each.recalled is recalled]
        if some:
            yield say(text_id, n=len(some))
            yield "\n".join(f"- {_line(say, each, why, room_id)}" for each in some)
    if why.others:
        yield say("why-others" if why.memories else "why-others-alone", n=why.others)
    if why.gone:
        yield say("why-gone", n=why.gone)


def _part(say: Speaker, chunk: Chunk) -> str:
    return say(
        "why-part",
        id=str(chunk.document_id),
        title=escape(chunk.title),
        number=str(chunk.number),
        total=str(chunk.total),
    )


def _line(say: Speaker, given: GivenMemory, why: Why, room_id: str) -> str:
    memory = given.memory
    saved = memory.created_at.date()
    days = (why.today - saved).days
    return say(
        "why-memory",
        id=str(memory.id),
        date=saved.isoformat(),
        age=say("age-days", n=days) if days > 0 else say("age-today"),
        origin=_origin(say, memory, room_id),
        by=say(_BY[memory.source]),
        text=escape(memory.text) if given.text_shown else say("why-not-here"),
    )


def _origin(say: Speaker, memory: Memory, room_id: str) -> str:
    if memory.scope is ScopeKind.ROOM:
        return say("why-of-room")
    if memory.origin.private:
        return say("why-from-private")
    return say("why-from-here") if memory.origin.room == room_id else say("why-from-elsewhere")
