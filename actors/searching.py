"""The one search of a turn (D2): embed once, every list scores, the best three are merged, one transaction settles.

The room's documents are searched beside the lists with the same vector, also where memories are not (D13).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from actors.actor import Address
from actors.messages import ListScore, Score, Settled
from actors.metrics import timed
from actors.parts import Parts
from actors.ports import Vector
from actors.runtime import ActorSystem
from actors.searching_documents import DocumentSearch
from actors.turns import Turn
from memory import decay
from memory.documents import Chunk
from memory.errors import ActorFailed, EmbeddingError
from memory.settings import MemorySettings
from memory.types import Recall
from memory.window import owners_today

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What a turn is given. scores: of each list. recall: what its search found; None: there was none, or it failed
    (D7). chunks: parts of the room's documents, best first.
    """

    scores: dict[Address, ListScore]
    recall: Recall | None
    chunks: tuple[Chunk, ...]


class Search:
    """Searches for turns; holds nothing between them."""

    def __init__(self, parts: Parts, system: ActorSystem) -> None:
        self._parts = parts
        self._system = system
        self._metrics = parts.metrics
        self._documents = DocumentSearch(parts, system)

    async def search(self, turn: Turn, lists: Sequence[Address], settings: MemorySettings) -> Found:
        """Search once (D2) and settle; a turn whose search is already recorded only reads (a replay, D2).

        Documents count nothing, so that a replay searches them again.
        """
        recorded = turn.entry.recall
        compared = recorded is None and decay.searches(turn.said, settings)
        vector = await self._vector(turn) if compared or await self._documents.possible(turn) else None
        with timed(self._metrics, "score"):
            scores, chunks = await asyncio.gather(
                self.scores(turn, lists, settings, vector if compared else None), self._documents.search(turn, vector)
            )
        if compared and vector is not None and not any(score.failed for score in scores.values()):
            with timed(self._metrics, "settle"):
                recorded = await self._settle(turn, scores, settings)
            self._metrics.memories("recalled", len(recorded.recalled))
        else:
            async with self._parts.store.transaction() as tables:
                await tables.journal.begin_turn(turn.entry.incoming.event_id, turn.persona.name, turn.said, turn.kind)
        return Found(scores, recorded, chunks)

    async def _vector(self, turn: Turn) -> Vector | None:
        embedder = self._parts.embedder
        if embedder is None:
            return None
        try:
            with timed(self._metrics, "embed"):
                return await embedder.embed_query(turn.said)
        except EmbeddingError as error:
            log.warning("no search for %s: %s", turn.entry.incoming.event_id, error)
            return None

    async def scores(
        self, turn: Turn, lists: Sequence[Address], settings: MemorySettings, vector: Vector | None
    ) -> dict[Address, ListScore]:
        """Ask every list; one that cannot be read says so, and the search failed (D7)."""
        request = Score(turn.conversation, settings, vector, turn.heard)
        answers = await asyncio.gather(
            *(self._system.ask(address, request) for address in lists), return_exceptions=True
        )
        scores: dict[Address, ListScore] = {}
        for address, answer in zip(lists, answers, strict=True):
            if isinstance(answer, ListScore):
                scores[address] = answer
            elif isinstance(answer, ActorFailed):
                scores[address] = ListScore(failed=True)
            else:
                raise answer
        return scores

    async def _settle(self, turn: Turn, scores: dict[Address, ListScore], settings: MemorySettings) -> Recall:
        """Merge the best matches and settle every counter in one transaction (D3, D4), then tell the lists.

        The date is that of the transaction: a search that took over midnight must not take back what turns beside it
        have settled for the new day (D16).
        """
        searched = [memory for score in scores.values() for memory in score.searched]
        matches = decay.merge(score.best for score in scores.values())
        event_id = turn.entry.incoming.event_id
        async with self._parts.store.transaction() as tables:
            now = self._parts.clock.now()
            wrote = owners_today((*turn.window.entries, turn.message), now.date())
            settlement = decay.settle(searched, matches, now.date(), now, wrote)
            recall = Recall(
                now.date(),
                matches,
                decay.recalled(searched, matches, settings.rest_after_days),
                decay.rested(searched, settlement, settings.rest_after_days),
            )
            await tables.journal.begin_turn(event_id, turn.persona.name, turn.said, turn.kind)
            await tables.memories.settle(settlement)
            await tables.journal.record_recall(event_id, recall)
        if settlement.healed:
            log.warning("memories %s were dated more than 7 days ahead and are set to today", settlement.healed)
        for address in scores:
            await self._system.tell(address, Settled(settlement))
        return recall
