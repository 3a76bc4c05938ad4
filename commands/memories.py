"""`!memories`: each form asks the caller's user actor, so nobody can name another person's memories."""

from __future__ import annotations

from collections.abc import Iterable

from actors.memory_messages import MakeGlobal, MarkMemories, ShowMemory, UndoLast
from actors.messages import ClearMemories, DeleteMemories, EditMemory, ListMemories
from commands import memory_texts as texts
from commands.memory_values import (
    ClearMine,
    DeleteMine,
    EditMine,
    GlobalMine,
    LimitMine,
    ListMine,
    ShareMine,
    ShowMine,
    TagMine,
    TooManyIds,
    UndoMine,
    UnshareMine,
)
from commands.order import Handlers, Order
from memory.errors import Refused
from memory.marking import Limiting, Mark, Sharing, Tagging, checked_tags

handlers = Handlers()


@handlers.on(ListMine)
async def list_mine(command: ListMine, order: Order) -> str:
    """List the caller's memories usable here and count the others (D18)."""
    found = await order.system.ask(order.me, ListMemories(order.caller.conversation, order.caller.heard))
    persona = order.caller.conversation.persona
    return texts.listing(order.say, found.shown, found.hidden, order.memory, persona=persona)


@handlers.on(ShowMine)
async def show(command: ShowMine, order: Order) -> str:
    """Show one memory with all there is to know about it. Raises Refused where it is hidden (D8)."""
    conversation = order.caller.conversation
    memory = await order.system.ask(order.me, ShowMemory(command.memory_id, conversation, order.caller.heard))
    return texts.shown(order.say, memory, conversation, order.memory)


@handlers.on(DeleteMine)
async def delete(command: DeleteMine, order: Order) -> str:
    """Delete what can be deleted, hidden or not, and name the rest."""
    if not command.ids:
        return texts.deleted(order.say, (), command.wrong)
    result = await order.system.ask(order.me, DeleteMemories(command.ids, order.effect))
    return texts.deleted(order.say, result.done, _wrong(result.unknown, command.wrong))


@handlers.on(EditMine)
async def edit(command: EditMine, order: Order) -> str:
    """Rewrite one memory, which protects it (D11). Raises Refused."""
    return texts.edited(
        order.say, await order.system.ask(order.me, EditMemory(command.memory_id, command.text, order.effect))
    )


@handlers.on(ClearMine)
async def clear(command: ClearMine, order: Order) -> str:
    """Delete every durable memory of the caller (D18)."""
    count = await order.system.ask(order.me, ClearMemories(order.effect))
    return texts.cleared(order.say, count, order.memory)


@handlers.on(ShareMine)
async def share(command: ShareMine, order: Order) -> str:
    """Let what was said in private be used in rooms (D8)."""
    return await _marked(order, Sharing(on=True), command.ids, command.wrong, "memories-shared")


@handlers.on(UnshareMine)
async def unshare(command: UnshareMine, order: Order) -> str:
    """Let what was said in private stay there again (D8)."""
    return await _marked(order, Sharing(on=False), command.ids, command.wrong, "memories-unshared")


@handlers.on(LimitMine)
async def limit(command: LimitMine, order: Order) -> str:
    """Add this room to those memories are used in, or let them be used in every room (D8)."""
    mark = Limiting(order.room_id if command.here else None)
    said = "memories-limited" if command.here else "memories-unlimited"
    return await _marked(order, mark, command.ids, command.wrong, said)


@handlers.on(TagMine)
async def tag(command: TagMine, order: Order) -> str:
    """Set the words one of which must be heard for a memory to be used (D8). Raises Refused."""
    tags = checked_tags(command.words)
    result = await order.system.ask(order.me, MarkMemories((command.memory_id,), Tagging(tags), order.effect))
    if not result.done:
        raise Refused("memory-unknown", id=str(command.memory_id))
    return texts.tagged(order.say, command.memory_id, tags)


@handlers.on(GlobalMine)
async def make_global(command: GlobalMine, order: Order) -> str:
    """Let memories hold for every persona, which protects them (D11)."""
    say, wrong = order.say, command.wrong
    if not command.ids:
        return texts.changed(say, "memories-global", (), texts.strangers(say, wrong))
    result = await order.system.ask(order.me, MakeGlobal(command.ids, order.effect))
    others = texts.equal(say, result.equal), texts.strangers(say, _wrong(result.unknown, wrong))
    return texts.changed(say, "memories-global", result.done, *others)


@handlers.on(UndoMine)
async def undo(command: UndoMine, order: Order) -> str:
    """Take back the caller's last del, edit, clear or cleanup. Raises Refused."""
    ids = await order.system.ask(order.me, UndoLast(order.effect))
    return texts.undone(order.say, ids)


@handlers.on(TooManyIds)
async def refuse_too_many(command: TooManyIds, order: Order) -> str:
    """Refuse ranges too wide to be meant, whatever was to be done with them."""
    raise Refused("ids-too-many", limit=command.limit)


async def _marked(order: Order, mark: Mark, ids: tuple[int, ...], wrong: tuple[str, ...], text_id: str) -> str:
    """Mark what is the caller's, and name the rest."""
    if not ids:
        return texts.changed(order.say, text_id, (), texts.strangers(order.say, wrong))
    result = await order.system.ask(order.me, MarkMemories(ids, mark, order.effect))
    others = texts.needless(order.say, result.needless), texts.strangers(order.say, _wrong(result.unknown, wrong))
    return texts.changed(order.say, text_id, result.done, *others)


def _wrong(unknown: Iterable[int], words: tuple[str, ...]) -> tuple[str, ...]:
    return (*texts.runs(unknown), *words)
