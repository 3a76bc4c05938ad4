"""A command on its way: who gives it and where, and its answer in the outbox. Runs as a task of its room actor."""

from __future__ import annotations

import logging

from actors.actor import Address
from actors.answers import Said, answering, private_of
from actors.messages import OpenWindow
from actors.parts import Parts
from actors.rights import changes_list
from actors.runtime import ActorSystem
from actors.tracing import following
from actors.turns import conversation
from memory.errors import MatrixError, MediaFailed, Refused, Stopping
from memory.events import Caller, Incoming, JournalState, Told
from memory.window import known_in
from memory.words import Heard

log = logging.getLogger(__name__)


class CommandRunner:
    """Carries out the commands of one room; holds nothing between them."""

    def __init__(self, room_id: str, parts: Parts, system: ActorSystem) -> None:
        self._room_id = room_id
        self._parts = parts
        self._system = system

    async def run(self, event: Incoming, command: object, persona: str) -> None:
        """Carry out a command and answer it. `persona`: the room's current one. Raises Stopping."""
        alone = False
        try:
            with following(event.event_id):
                caller = await self._caller(event, persona)
                alone = caller.conversation.private
                told = await self._parts.dispatcher.run(command, caller)
        except Refused as refusal:
            if isinstance(refusal.__cause__, (MatrixError, MediaFailed)):  # people are told that it failed, not why
                log.warning("the command of %s came to nothing: %s", event.event_id, refusal.__cause__)
            told = Told(self._parts.speaker(self._room_id).refusal(refusal))
        except Stopping:
            raise
        except Exception:
            log.exception("the command of %s failed", event.event_id)
            told = Told(self._parts.speaker(self._room_id)("internal-error"))
        private = private_of(told, event.sender)
        said = Said(told.markdown, notice=True, private=private, alone=alone)
        async with answering(self._parts, self._system, event, said) as tables:
            await tables.journal.finish(event.event_id, JournalState.LEARNED)

    async def _caller(self, event: Incoming, persona: str) -> Caller:
        members = await members_of(self._room_id, self._parts)
        window = await self._system.ask(Address("room", self._room_id), OpenWindow(event.thread_root, members))
        place = conversation(event, members, persona)
        return Caller(
            user_id=event.sender,
            event_id=event.event_id,
            conversation=place,
            heard=Heard((*(entry.text for entry in known_in(window, place).entries), event.text)),
            direct=event.direct,
            reply_to=event.reply_to,
            thread_root=event.thread_root,
            admin=self._parts.settings.admin(event.sender),
            changes_state=self._parts.matrix.can_write_state(self._room_id, event.sender),
            changes_list=changes_list(self._parts, self._room_id, event.sender),
            private_to=event.sender if event.private else None,
        )


async def members_of(room_id: str, parts: Parts) -> frozenset[str]:
    """Return who is in a room; while that cannot be known, everybody is taken for a stranger."""
    try:
        return await parts.matrix.members(room_id)
    except MatrixError as error:
        log.warning("the members of %s cannot be had: %s", room_id, error)
        return frozenset()
