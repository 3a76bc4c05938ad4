"""Every table family of one open transaction."""

from __future__ import annotations

from dataclasses import dataclass

from storage.account import AccountRows
from storage.candidates import CandidateRows
from storage.documents import DocumentRows
from storage.effects import EffectRows
from storage.journal import JournalRows
from storage.memories import MemoryRows
from storage.outbox import OutboxRows
from storage.overrides import OverrideRows
from storage.overview import OverviewRows
from storage.rooms import RoomRows
from storage.scenes import SceneRows
from storage.sql import Sql
from storage.undo import UndoRows
from storage.usage import UsageRows
from storage.users import UserRows


@dataclass(frozen=True, slots=True)
class Tables:
    """The families, all inside the same transaction."""

    journal: JournalRows
    outbox: OutboxRows
    memories: MemoryRows
    candidates: CandidateRows
    users: UserRows
    rooms: RoomRows
    effects: EffectRows
    usage: UsageRows
    account: AccountRows
    overrides: OverrideRows
    overview: OverviewRows
    undo: UndoRows
    documents: DocumentRows
    scenes: SceneRows

    @classmethod
    def over(cls, sql: Sql) -> Tables:
        """Return the families over one transaction."""
        return cls(
            journal=JournalRows(sql),
            outbox=OutboxRows(sql),
            memories=MemoryRows(sql),
            candidates=CandidateRows(sql),
            users=UserRows(sql),
            rooms=RoomRows(sql),
            effects=EffectRows(sql),
            usage=UsageRows(sql),
            account=AccountRows(sql),
            overrides=OverrideRows(sql),
            overview=OverviewRows(sql),
            undo=UndoRows(sql),
            documents=DocumentRows(sql),
            scenes=SceneRows(sql),
        )
