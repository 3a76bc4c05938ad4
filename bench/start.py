"""How long a start takes over a large database, beside the homeserver's part.

    .venv/bin/python -m bench.start [--stored 1000000]

Each start is a process of its own: libraries, the built-in embedder, the database as the last run left it (killed, so
that SQLite has a log to take up), the actors with their unfinished work, and the first answer, whose lists have to be
loaded. Logging in and the first sync are the homeserver's time and left out. One start goes before those that count:
it leaves the libraries compiled, as the first start after an installation does.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STARTS = 5
STEPS = ("libraries", "embedder", "database", "unfinished work", "first answer")


def _now() -> tuple[float, float]:
    """Return the moment and the processor time used so far, in seconds."""
    return time.perf_counter(), time.process_time()


async def start(folder: Path) -> None:
    """Start, print the seconds each step took, and end without closing anything."""
    times = [_now()]
    import davenport.wiring  # noqa: F401, PLC0415 - this is what is measured
    from bench.stored import user_id  # noqa: PLC0415
    from bench.whole import Bench  # noqa: PLC0415
    from index.builtin import BuiltinEmbedder  # noqa: PLC0415
    from memory.settings import MemorySettings  # noqa: PLC0415
    from storage import Database  # noqa: PLC0415
    from tests.fakes.model import FakeModel  # noqa: PLC0415

    times.append(_now())
    embedder = BuiltinEmbedder()
    times.append(_now())
    store = await Database.open(folder)
    times.append(_now())
    bench = Bench(store, embedder, FakeModel(), MemorySettings())
    await bench.intake.resume()
    times.append(_now())
    await bench.say("what do you know about the cello?", user_id(7), "!start:hs")
    times.append(_now())
    for before, after in itertools.pairwise(times):
        print(after[0] - before[0], after[1] - before[1])
    sys.stdout.flush()
    os._exit(0)


def run(stored: int, folder: Path) -> None:
    from bench.stored import made  # noqa: PLC0415 - not to be loaded where starts are measured
    from bench.whole import load  # noqa: PLC0415

    made(folder, stored)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    starts: list[list[list[float]]] = []
    for _ in range(1 + STARTS):
        command = (sys.executable, "-m", "bench.start", "--folder", str(folder), "--one")
        done = subprocess.run(  # noqa: S603 - our own module
            command, check=True, capture_output=True, text=True, env=environment
        )
        starts.append([[float(number) for number in line.split()] for line in done.stdout.splitlines()])
    print(f"{stored} memories stored; seconds, medians of {STARTS} starts; {load()}")
    print(f"{'':20} {'passed':>7} {'processor':>10}")
    total = [0.0, 0.0]
    for number, step in enumerate(STEPS):
        wall, cpu = (statistics.median(each[number][column] for each in starts[1:]) for column in (0, 1))
        print(f"{step:20} {wall:7.3f} {cpu:10.3f}")
        total = [total[0] + wall, total[1] + cpu] if step != "embedder" else total
    print(f"{'without the model':20} {total[0]:7.3f} {total[1]:10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, default=1_000_000, help="memories stored in all")
    parser.add_argument("--folder", type=Path, help="where the database is kept for another run; else it is temporary")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        asyncio.run(start(options.folder))
    with tempfile.TemporaryDirectory() as temporary:
        run(options.stored, options.folder or Path(temporary))


if __name__ == "__main__":
    main()
