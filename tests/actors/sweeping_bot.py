"""A bot in a process of its own that embeds anew what it finds: `python -m tests.actors.sweeping_bot FOLDER MODEL DIM`.

Says so after each batch, and then takes its time, so that it can be killed in the middle.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from actors.sweep import Sweep
from tests.actors.conftest import Bot
from tests.fakes.word_embedder import WordEmbedder


async def main(folder: Path, model: str, dim: int) -> None:
    embedder = WordEmbedder(model, dim)
    bot = Bot(folder, embedder)
    await bot.start()

    async def sleep(seconds: float) -> None:
        if embedder.asked:
            print("batch", len(embedder.asked), flush=True)
        await asyncio.sleep(seconds)

    await Sweep(bot.parts, bot.system, per_minute=60_000, sleep=sleep).round(embedder)
    await bot.crash()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
