"""What comes in from Matrix and what goes out, in words the actors and the journal share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memory.media import Attachment, MediaKind
from memory.quota import Limit
from memory.types import Conversation, Recall, TurnKind
from memory.words import NOTHING, Heard


class IncomingKind(StrEnum):
    """Kinds of event the bot takes note of."""

    MESSAGE = "message"
    EDIT = "edit"
    REDACTION = "redaction"
    JOINED = "joined"  # the bot itself came into the room; it is the sender


class JournalState(StrEnum):
    """Life of a journalled event: received -> answered -> learned, or one of the others at once.

    Commands, turns that teach nothing and arrivals go straight to `learned` when their answer is in the outbox.
    """

    RECEIVED = "received"
    ANSWERED = "answered"
    LEARNED = "learned"
    IGNORED = "ignored"
    FAILED = "failed"
    UNDECRYPTED = "undecrypted"


@dataclass(frozen=True, slots=True)
class Incoming:
    """One event of a room, decrypted and read.

    body: the plain text as sent, "" for anything but text. text: body without the mention that addressed the bot.
    target: the event that an edit replaces or a redaction removes. thread_root, reply_to: relations, where present.
    addressed: m.mentions, a pill or the leading display name means the bot, or the message begins with a name of the
    room's persona. for_others: m.mentions names people and not the bot. direct: m.direct or is_direct says so.
    alone: nobody but the sender and the bot is in the room or invited, comes in unasked or reads it from outside.
    media: what the event holds beside its caption, which then is the body. scene: said while the sender is in a scene
    there (`!verse on`), as decided when it came in.
    sent_at: the homeserver's timestamp.
    """

    event_id: str
    room_id: str
    sender: str
    kind: IncomingKind
    sent_at: datetime
    body: str = ""
    text: str = ""
    target: str | None = None
    thread_root: str | None = None
    reply_to: str | None = None
    addressed: bool = False
    direct: bool = False
    alone: bool = False
    media: MediaKind | None = None
    scene: bool = False
    for_others: bool = False  # of the event as it comes in; not journalled

    @property
    def private(self) -> bool:
        """Whether what is said here is heard by nobody but the sender and the bot."""
        return self.direct and self.alone


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A journalled event with what became of it. `seq` is the order of arrival and so the order of turns.

    in_context: whether it may stand in a conversation window (`!forget`, `!privacy silent`).

    `received_at` and `answered_at` are moments of our own clock, unlike `incoming.sent_at`.
    """

    seq: int
    incoming: Incoming
    state: JournalState
    received_at: datetime
    persona: str | None = None
    recall: Recall | None = None
    said: str | None = None  # the text that was asked, without prefix or mention
    answer: str | None = None  # the Markdown that was answered
    answered_at: datetime | None = None
    in_context: bool = True
    turn: TurnKind | None = None  # once the turn began


@dataclass(frozen=True, slots=True)
class Undecryptable:
    """An encrypted event whose key has not come yet; `raw` is its JSON as received."""

    event_id: str
    room_id: str
    sender: str
    session_id: str
    sent_at: datetime
    raw: str


@dataclass(frozen=True, slots=True)
class Echo:
    """An own event seen in /sync: the homeserver took the outbox row with this transaction id."""

    txn_id: str
    event_id: str
    room_id: str


@dataclass(frozen=True, slots=True)
class SyncBatch:
    """One /sync response, whole: gaps filled, in the order of each room's timeline."""

    next_batch: str
    events: tuple[Incoming, ...] = ()
    undecryptable: tuple[Undecryptable, ...] = ()
    echoes: tuple[Echo, ...] = ()
    encrypted_rooms: tuple[str, ...] = ()
    late: tuple[Incoming, ...] = ()  # events of earlier batches whose key came with this one


@dataclass(frozen=True, slots=True)
class Answer:
    """Markdown on its way to a room: where it goes and which event it answers. `notice`: a status line (m.notice).

    recipient: who is answered and mentioned; None where it is said to the whole room, and so is no reply. attachment: a
    file that follows the words. edits: the txn id of the row that this one replaces. quiet: nobody is mentioned, since
    the recipient was by what this goes on with.
    """

    room_id: str
    event_id: str
    recipient: str | None
    markdown: str
    thread_root: str | None = None
    notice: bool = False
    attachment: Attachment | None = None
    edits: str | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One event to send: `content` is its Matrix content as JSON text; the txn id derives from event and part.

    edits: the txn id of an earlier row of the same room whose event this one replaces (m.replace); which event that is
    is put in when this row's time comes.
    """

    txn_id: str
    room_id: str
    event_id: str
    part: int
    content: str
    created_at: datetime
    device_id: str = ""
    sent_event_id: str | None = None
    edits: str | None = None
    only_for: str | None = None  # who is to hear it alone: not sent where others are in the room by then (D8)
    attachment: bytes | None = None  # to be uploaded first; where it lies then goes into the content


@dataclass(frozen=True, slots=True)
class Backlog:
    """What of the outbox the homeserver does not have yet: how many rows, and when the oldest was stored."""

    rows: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Totals:
    """What is remembered over all rooms and people; `users` have a memory or a candidate."""

    memories: int
    candidates: int
    users: int


@dataclass(frozen=True, slots=True)
class Caller:
    """Who gave a command, by which event and where.

    heard: what stands in the conversation's window. admin: `matrix.admins` names the caller. changes_state: the
    caller's power level allows changing the room's state; changes_list: changing the room's list of memories.
    private_to: the caller where nobody else heard the command, though somebody may have come in since; else None.
    """

    user_id: str
    event_id: str
    conversation: Conversation
    heard: Heard = NOTHING
    direct: bool = False
    reply_to: str | None = None
    thread_root: str | None = None
    admin: bool = False
    changes_state: bool = False
    changes_list: bool = False
    private_to: str | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """What a command answers: Markdown for the room, and what goes to the caller's direct room with the bot.

    private: Markdown that this room may not see; attachment: a file. Where the command was given in private both go
    there anyway.
    """

    markdown: str
    private: str = ""
    attachment: Attachment | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a text means to the bot: a turn with its kind and text, or a command value to hand to the Dispatcher.

    ends_scene: the command that ends its author's scene, which holds from the moment it comes in.
    """

    turn: TurnKind | None = None
    text: str = ""
    command: object | None = None
    name: str = ""  # of the command as typed, "memories del", in the spelling of the table
    ends_scene: bool = False


class Dispatcher(Protocol):
    """The command table as the room actor sees it; given by wiring, never imported."""

    @property
    def prefix(self) -> str:
        """What commands begin with now."""
        ...

    def recognise(self, text: str, *, meant: bool = False) -> Recognised | None:
        """Read a text; None when it is no command of this bot. Pure.

        `meant`: the message is for this bot anyway (a direct room, a mention), so that a command it does not know is
        recognised in order to be refused with a hint.
        """
        ...

    def limit(self, name: str) -> Limit:
        """Return what a try of this command counts against, as set now: its own quota, or that of one above it."""
        ...

    async def run(self, command: object, caller: Caller) -> Told:
        """Carry out a command value and return what to answer.

        Raises Refused when it cannot be done.
        """
        ...
