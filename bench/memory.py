"""What the bot takes of the machine's memory: many users known, some of them active.

    .venv/bin/python -m bench.memory [--stored 1000000] [--active 1000]

1,000,000 memories are those of 99,000 users, who have nothing elsewhere. Each active one has 20 and says something in a
room of their own, so that their actor, their room's actor, both lists and their index are loaded, as after a busy hour.
The model is a double in the same process; what it keeps of the prompts is thrown away. nio holds every room the bot is
in, active or not: as many rooms of three members as there are active users stand for that.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import tempfile
import time
from pathlib import Path

from nio.rooms import MatrixRoom

import davenport.wiring  # noqa: F401 - so that every library the bot runs on is loaded
from actors.lists import MemoryList
from actors.owner import ListOwner
from bench.stored import made, owner_of, user_id
from bench.whole import Bench, load
from index.builtin import BuiltinEmbedder
from memory.settings import MemorySettings
from storage import Database
from tests.fakes.model import FakeModel

LIMIT = 450
PAGE = resource.getpagesize()


def resident() -> float:
    """Return what is resident now, in MB."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE / 1e6


def matrix_rooms(count: int) -> list[MatrixRoom]:
    rooms = []
    for number in range(count):
        room = MatrixRoom(f"!{number}:hs", "@bot:hs", encrypted=True)
        for member in ("@bot:hs", user_id(number), f"@other{number}:hs"):
            room.add_member(member, f"Name of {member}", None)
        rooms.append(room)
    return rooms


def loaded_lists(bench: Bench) -> list[MemoryList]:
    owners = [cell.actor for cell in bench.system.cells.values() if isinstance(cell.actor, ListOwner)]
    return [each for owner in owners for each in owner.lists.loaded]


def report(name: str) -> None:
    gc.collect()
    print(f"{name:50} {resident():7.0f} MB", flush=True)


async def run(stored: int, active: int, folder: Path) -> int:
    made(folder, stored)
    report("libraries")
    embedder = BuiltinEmbedder()
    report("and the built-in embedder")
    async with await Database.open(folder) as store:
        model = FakeModel()
        bench = Bench(store, embedder, model, MemorySettings())
        report(f"and a database of {owner_of(stored - 1) + 1} users")
        rooms = matrix_rooms(active)
        report(f"and {len(rooms)} rooms in nio")
        begun = time.perf_counter()
        for number in range(active):
            await bench.say("what do you know about the cello?", user_id(number), f"!{number}:hs")
            model.prompts.clear()
            model.requests.clear()
        took = (time.perf_counter() - begun) / active * 1000
        report(f"and {active} users active, {len(bench.system.cells)} actors")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        rows = sum(len(each.memories) for each in loaded_lists(bench))
        print(f"{rows} memories loaded, indexes {bench.parts.indexes.size / 1e6:.0f} MB; peak {peak:.0f} MB")
        print(f"first message of a user: {took:.1f} ms to the end of its pass; {load()}")
        await bench.system.close()
    print(f"{'within' if peak <= LIMIT else 'OVER'} the limit of {LIMIT} MB")
    return int(peak > LIMIT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, default=1_000_000, help="memories stored in all")
    parser.add_argument("--active", type=int, default=1000, help="users who say something, at most 1000")
    parser.add_argument("--folder", type=Path, help="where the database is kept for another run; else it is temporary")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        raise SystemExit(asyncio.run(run(options.stored, options.active, options.folder or Path(temporary))))


if __name__ == "__main__":
    main()
