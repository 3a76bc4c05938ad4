"""Write schemas/NNNN.sql, a dump of a database of the newest schema with a row or more in each table.

To be run once with each new migration, before it is released: `python -m tests.unit.storage.dump_schema`.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

from memory.events import IncomingKind, JournalState
from memory.model import Usage
from memory.types import Match, Origin, Recall, Source
from storage import Database
from storage.migrate import migrations
from storage.tables import Tables
from tests.unit.storage import build

SCHEMAS = Path(__file__).parent / "schemas"
SAID = {"$e1": "my cat is Mochi", "$e2": "Mochi is my cat", "$e3": "and I play the cello"}


async def fill(tables: Tables) -> None:
    """Two turns learned, one unfinished; a memory promoted from the first two, a candidate from the third."""
    events = [build.incoming(event_id, text=text) for event_id, text in SAID.items()]
    arrival = build.incoming("$e0", kind=IncomingKind.JOINED, text="", body="")
    batch = build.batch(
        *events,
        arrival,
        undecryptable=(build.undecryptable("$e4"),),
        encrypted_rooms=(build.OTHER_ROOM,),
        next_batch="s1",
    )
    await tables.journal.record(batch, events, [arrival], build.NOW)
    for event_id, text in SAID.items():
        await tables.journal.begin_turn(event_id, "default", text)
    for event_id in ("$e1", "$e2"):
        await tables.journal.answered(event_id, "Noted.", JournalState.LEARNED, build.NOW)
    await tables.journal.record_recall("$e3", Recall(build.NOW.date(), (Match(1, 0.5),), (1,)))
    await promote(tables)
    await tables.candidates.insert(build.ALICE, "plays the cello", Origin(build.ROOM, "$e3", False), build.NOW)
    await tables.outbox.add([build.outbox_row("txn1"), build.outbox_row("txn2")])
    await tables.outbox.sent("txn1", "$sent")
    await tables.users.add_promoting_pass(build.ALICE)
    await tables.effects.record("$e1", 0, "saved")
    await tables.usage.add("$e1", build.ALICE, build.ROOM, "reply", Usage("model", 1, 2, 3, 4), build.NOW)
    await tables.account.set("device_id", "DEVICE")


async def promote(tables: Tables) -> None:
    origin = Origin(build.ROOM, "$e1", False)
    candidate = await tables.candidates.insert(build.ALICE, "has a cat named Mochi", origin, build.NOW)
    await tables.candidates.reinforce(candidate.id, "$e2", build.NOW)
    draft = build.draft(candidate.text, source=Source.PROMOTION, origin=origin, mentions=2)
    memory = await tables.memories.insert(draft, build.NOW)
    await tables.candidates.promoted(candidate.id, memory.id)
    await tables.memories.put_vectors("model", [(memory.id, memory.text, np.array([0.5, -0.5], dtype=np.float32))])
    deleted = await tables.memories.insert(build.draft("deleted again"), build.NOW)
    await tables.memories.delete([deleted.id])


async def main(data_dir: Path) -> None:
    async with await Database.open(data_dir) as database, database.transaction() as tables:
        await fill(tables)
    dump(database.path)


def dump(file: Path) -> None:
    SCHEMAS.mkdir(exist_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        lines = "\n".join(connection.iterdump())
    (SCHEMAS / f"{len(migrations()):04}.sql").write_text(lines + "\n", "utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder) / "data"))
