"""`!memories export` and `!memories import`: the caller's memories as a file, and back."""

from __future__ import annotations

import asyncio

from actors.document_messages import MayAdd
from actors.transfer import ExportMemories, FindImport, Imported, ImportMemories
from commands.order import Handlers, Order
from commands.values import ExportMine, ImportMine
from memory.errors import MatrixError, Refused
from memory.events import Told
from memory.media import Attachment
from memory.transfer import MEDIA_TYPE, MOST_BYTES, file_name, is_of, read, written

handlers = Handlers()


@handlers.on(ExportMine)
async def export(command: ExportMine, order: Order) -> Told | str:
    """Send the caller a file of all they own to their direct room; the room it was asked in learns only that."""
    found = await order.system.ask(order.me, ExportMemories(order.room_id))
    count = len(found.memories)
    if not count:
        return order.say("export-nothing")
    data = await asyncio.to_thread(written, found.memories, order.caller.user_id, found.at)
    file = Attachment(file_name(found.at), MEDIA_TYPE, data)
    about = order.say("export-file", n=count)
    if order.caller.conversation.private:
        return Told(about, attachment=file)
    return Told(order.say("export-sent"), private=about, attachment=file)


@handlers.on(ImportMine)
async def take_in(command: ImportMine, order: Order) -> str:
    """Save what the file says to which the caller replies, all of it or nothing (D11). Raises Refused."""
    done = await order.system.ask(order.me, FindImport(order.effect))  # a replay needs the file no more
    if done is None:
        file = await _file(order)
        await _refuse_others(order, file)
        items = await asyncio.to_thread(read, file.data, private=order.caller.direct)
        done = await order.system.ask(order.me, ImportMemories(items, order.room_id, order.effect))
    return _told(order, done)


async def _file(order: Order) -> Attachment:
    caller = order.caller
    if caller.reply_to is None:
        raise Refused("import-no-reply")
    try:
        file = None if order.files is None else await order.files.attachment(order.room_id, caller.reply_to, MOST_BYTES)
    except MatrixError as error:
        raise Refused("import-no-answer") from error
    if file is None:
        raise Refused("import-no-file")
    return file


async def _refuse_others(order: Order, file: Attachment) -> None:
    """Refuse what somebody sent alone with the bot, or silent people did, and what the bot gave to another (D8).

    It is read for whoever asks, who may have come in later and be unable to read it. Raises Refused.
    """
    caller, event_id = order.caller, order.caller.reply_to
    if event_id is None or await asyncio.to_thread(is_of, file.data, caller.user_id):
        return
    try:
        await order.system.ask(order.here, MayAdd(event_id, file.sender, caller.user_id, caller.direct))
    except Refused as refused:
        raise Refused("import-not-for-here") from refused


def _told(order: Order, done: Imported) -> str:
    said = order.say("import-done", n=done.saved) if done.saved else order.say("import-nothing")
    return f"{said} {order.say('import-there', n=done.there)}" if done.there else said
