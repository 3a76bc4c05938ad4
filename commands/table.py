"""The one table of commands: it feeds parsing, permission, `!help` and docs/commands.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from commands.arguments import read_add, read_add_to_room, read_help, read_verse, turn_of
from commands.config_arguments import (
    read_config,
    read_config_list,
    read_config_reset,
    read_room_config,
    read_room_config_reset,
)
from commands.context_arguments import read_forget, read_persona, read_privacy
from commands.document_values import AddRoomDocument, DeleteRoomDocuments, ListRoomDocuments
from commands.memory_arguments import id_for, ids_for, list_for, nothing_for, read_limit, read_tag, wording_for
from commands.memory_values import (
    CleanMine,
    CleanRoom,
    ClearMine,
    DeleteMine,
    DeleteRoom,
    EditMine,
    EditRoom,
    GlobalMine,
    ListMine,
    ListRoom,
    ShareMine,
    ShowMine,
    ShowRoom,
    UndoMine,
    UndoRoom,
    UnshareMine,
)
from commands.scene_values import BeginScene, EndScene
from commands.values import ExportMine, ImportMine, ShowUsage, ShowWhy, Value
from memory.events import Caller
from memory.quota import DEFAULT, CommandQuota, per_minutes
from memory.types import TurnKind

DEFAULT_PREFIX = "!"


@dataclass(frozen=True, slots=True)
class Permission:
    """Who may give a command: the id of the text that names them, and a test of the caller."""

    label: str
    allows: Callable[[Caller], bool]


ANYONE = Permission("who-everyone", lambda caller: True)
ADMINS = Permission("who-admins", lambda caller: caller.admin)
MODERATORS = Permission("who-moderators", lambda caller: caller.changes_state)
EDITORS = Permission("who-editors", lambda caller: caller.changes_list)
# What somebody alone with the bot adds there reaches nobody else's answers, whoever has come in since.
EDITORS_OR_ALONE = Permission("who-editors", lambda caller: caller.changes_list or caller.private_to is not None)
CONFIGURERS = Permission("who-configurers", lambda caller: caller.admin or caller.changes_state)


@dataclass(frozen=True, slots=True)
class Row:
    """One command or subcommand. Names and arguments are the same in every language.

    arguments: as usage shows them. help: the id of the text that says what it does. read: the text after the name -> a
    value, None when it cannot be read. below: the subcommands, tried on the first word of that text. quota: how often
    it may be given unless `limits.quotas` says otherwise; a subcommand without one counts with its command. bare: it is
    named only where nothing follows the word, which else begins the text of the command above it.
    """

    name: str
    arguments: str
    who: Permission
    help: str
    read: Callable[[str], Value | None]
    aliases: tuple[str, ...] = ()
    below: tuple[Row, ...] = ()
    quota: CommandQuota | None = None
    bare: bool = False

    def called(self, word: str) -> bool:
        """Whether a word names this row, in any case."""
        return word.casefold() in (self.name, *self.aliases)


Table = tuple[Row, ...]

TABLE: Table = (
    Row("ask", "TEXT", ANYONE, "help-ask", turn_of(TurnKind.ASK), quota=per_minutes(10, user=30, room=120)),
    Row("code", "TEXT", ANYONE, "help-code", turn_of(TurnKind.CODE), quota=per_minutes(10, user=20, room=80)),
    Row(
        "verse",
        "[TEXT]",
        ANYONE,
        "help-verse",
        read_verse,
        below=(
            Row("on", "", ANYONE, "help-verse-on", nothing_for(BeginScene), bare=True),
            Row("off", "", ANYONE, "help-verse-off", nothing_for(EndScene), quota=DEFAULT, bare=True),
        ),
        quota=per_minutes(10, user=30, room=120),
    ),
    Row("draw", "TEXT", ANYONE, "help-draw", turn_of(TurnKind.DRAW), quota=per_minutes(10, user=5, room=20)),
    Row("story", "TEXT", ANYONE, "help-story", turn_of(TurnKind.STORY), quota=per_minutes(10, user=1, room=6)),
    Row(
        "memories",
        "",
        ANYONE,
        "help-memories",
        list_for(ListMine),
        aliases=("memory",),
        below=(
            Row("show", "ID", ANYONE, "help-memories-show", id_for(ShowMine)),
            Row("add", "TEXT", ANYONE, "help-memories-add", read_add),
            Row("del", "ID…", ANYONE, "help-memories-del", ids_for(DeleteMine), aliases=("delete",)),
            Row("edit", "ID TEXT", ANYONE, "help-memories-edit", wording_for(EditMine)),
            Row("clear", "", ANYONE, "help-memories-clear", nothing_for(ClearMine)),
            Row(
                "cleanup",
                "",
                ANYONE,
                "help-memories-cleanup",
                nothing_for(CleanMine),
                quota=per_minutes(60, user=3),
            ),
            Row("undo", "", ANYONE, "help-memories-undo", nothing_for(UndoMine)),
            Row("share", "ID…", ANYONE, "help-memories-share", ids_for(ShareMine)),
            Row("unshare", "ID…", ANYONE, "help-memories-unshare", ids_for(UnshareMine)),
            Row("limit", "ID… here|off", ANYONE, "help-memories-limit", read_limit),
            Row("tag", "ID [WORD…]", ANYONE, "help-memories-tag", read_tag),
            Row("export", "", ANYONE, "help-memories-export", nothing_for(ExportMine), quota=per_minutes(60, user=5)),
            Row("import", "", ANYONE, "help-memories-import", nothing_for(ImportMine), quota=per_minutes(60, user=10)),
            Row("global", "ID…", ANYONE, "help-memories-global", ids_for(GlobalMine)),
            Row(
                "room",
                "",
                ANYONE,
                "help-memories-room",
                list_for(ListRoom),
                below=(
                    Row("show", "ID", ANYONE, "help-memories-room-show", id_for(ShowRoom)),
                    Row("add", "TEXT", EDITORS, "help-memories-room-add", read_add_to_room),
                    Row("del", "ID…", EDITORS, "help-memories-room-del", ids_for(DeleteRoom), aliases=("delete",)),
                    Row("edit", "ID TEXT", EDITORS, "help-memories-room-edit", wording_for(EditRoom)),
                    Row(
                        "cleanup",
                        "",
                        EDITORS,
                        "help-memories-room-cleanup",
                        nothing_for(CleanRoom),
                        quota=per_minutes(60, user=3, room=3),
                    ),
                    Row("undo", "", EDITORS, "help-memories-room-undo", nothing_for(UndoRoom)),
                ),
            ),
        ),
    ),
    Row(
        "documents",
        "",
        ANYONE,
        "help-documents",
        list_for(ListRoomDocuments),
        aliases=("document", "docs"),
        below=(
            Row(
                "add",
                "",
                EDITORS_OR_ALONE,
                "help-documents-add",
                nothing_for(AddRoomDocument),
                quota=per_minutes(60, user=20, room=40),
            ),
            # Who may delete which is checked where it is done.
            Row("del", "ID…", ANYONE, "help-documents-del", ids_for(DeleteRoomDocuments), aliases=("delete",)),
        ),
    ),
    Row("why", "", ANYONE, "help-why", nothing_for(ShowWhy)),
    Row("usage", "", ANYONE, "help-usage", nothing_for(ShowUsage)),
    Row(
        "config",
        "[KEY [VALUE]]",
        CONFIGURERS,  # what they may is checked where it is done: all of it is for admins, a room's part for others too
        "help-config",
        read_config,
        below=(
            Row("list", "[all]", ADMINS, "help-config-list", read_config_list),
            Row("reset", "KEY", ADMINS, "help-config-reset", read_config_reset),
            Row(
                "room",
                "[KEY [VALUE]]",
                CONFIGURERS,
                "help-config-room",
                read_room_config,
                below=(Row("reset", "KEY", CONFIGURERS, "help-config-room-reset", read_room_config_reset),),
            ),
        ),
    ),
    Row("privacy", "[open|no-memory|silent]", ANYONE, "help-privacy", read_privacy),
    Row("forget", "", ANYONE, "help-forget", read_forget),
    Row("persona", "[NAME]", ANYONE, "help-persona", read_persona),  # who may change it is checked where it is done
    Row("help", "[COMMAND]", ANYONE, "help-help", read_help),
)


def find(table: Table, word: str) -> Row | None:
    """Return the row a word names, or None."""
    return next((row for row in table if row.called(word)), None)


def lines(row: Row, prefix: str, parent: str = "") -> Iterator[tuple[str, Row]]:
    """Yield usage and row of a command and of everything below it, such as `("!memories del ID…", row)`."""
    name = f"{parent} {row.name}" if parent else f"{prefix}{row.name}"
    yield f"{name} {row.arguments}".rstrip(), row
    for child in row.below:
        yield from lines(child, prefix, name)
