"""Who waits for whom in a room: order within a lane, no order between lanes."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from memory.events import Incoming, JournalEntry, Recognised

# Thread root and "", or None and the sender; or an event and its sender where it waits for nobody and nobody for it.
Lane = tuple[str | None, str]


def lane_of(event: Incoming, meaning: Recognised) -> Lane:
    """Return where an event queues. What is no part of a conversation, such as a story, holds nobody up."""
    if meaning.turn is not None and not meaning.turn.remembers:
        return (event.event_id, event.sender)  # not the lane of the thread under it
    return (event.thread_root, "") if event.thread_root else (None, event.sender)


@dataclass(slots=True)
class Job:
    """An event on its way to its answer."""

    entry: JournalEntry
    meaning: Recognised
    lane: Lane
    task: asyncio.Task[None] | None = None
    edits: list[JournalEntry] = field(default_factory=list)  # that came before the answer


@dataclass(slots=True)
class Lanes:
    """Jobs in order of arrival; the first of each lane is the one that runs."""

    queues: dict[Lane, deque[Job]] = field(default_factory=dict)
    by_event: dict[str, Job] = field(default_factory=dict)

    def add(self, job: Job) -> bool:
        """Queue a job; True when it is first in its lane and may start."""
        self.by_event[job.entry.incoming.event_id] = job
        lane = self.queues.setdefault(job.lane, deque())
        lane.append(job)
        return len(lane) == 1

    def remove(self, event_id: str) -> Job | None:
        """Take a job out; return the one that may start now, if the one taken out was running."""
        job = self.by_event.pop(event_id)
        lane = self.queues[job.lane]
        was_first = lane[0] is job
        lane.remove(job)
        if not lane:
            del self.queues[job.lane]
        return lane[0] if was_first and lane else None
