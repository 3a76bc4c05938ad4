"""The actor runtime: bounded mailboxes, tell and ask, restart from storage, unloading of idle actors, drain.

One task per loaded actor takes its messages in order. A handler may await storage and tell actors further down
(room -> user -> outbox: never in a circle, so full mailboxes cannot lock each other), but neither the model nor
Matrix: slow work is a task of the actor (`Context.spawn`) whose result comes back as a message.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, cast

from actors.actor import Actor, Address, Envelope, Work
from actors.messages import R, Request
from actors.outstanding import Outstanding
from actors.tracing import followed
from memory.errors import ActorFailed, Refused, Stopping

log = logging.getLogger(__name__)

RELOADS, RELOAD_SECONDS = 3, 60.0  # so many failures within so long, and an actor is not reloaded by itself
_REMEMBERED = 100  # last failures of an actor whose events are known


Factories = Mapping[str, Callable[["Context"], Actor]]


class Context:
    """What an actor may do with the rest of the system; the runtime keeps its mailbox and tasks here."""

    def __init__(self, system: ActorSystem, address: Address) -> None:
        self.system = system
        self.address = address
        self.mailbox: asyncio.Queue[Envelope] = asyncio.Queue(system.capacity)
        self.senders = 0
        self.stopped = False
        self.busy = False
        self.failures: deque[float] = deque(maxlen=RELOADS)
        self._failed_on: deque[str] = deque(maxlen=_REMEMBERED)
        self.tasks: set[asyncio.Task[None]] = set()
        self.actor: Actor | None = None
        # A context of its own: an actor outlives the event whose work first needed it (actors/tracing.py).
        self.runner = asyncio.create_task(self._run(), name=str(address), context=contextvars.Context())

    def spawn(self, work: Work) -> asyncio.Task[None]:
        """Run slow work as a task of this actor; what it returns, unless None, is told to the actor.

        The task is cancelled when the actor restarts. An exception that leaves it counts as a failure of the actor.
        """
        self.system.outstanding.expect()
        task = asyncio.create_task(self._guard(work), name=f"task of {self.address}")
        self.tasks.add(task)
        task.add_done_callback(lambda done: self._task_done(done, work))
        return task

    def failures_on(self, event_id: str) -> int:
        """Return how often what was asked on account of an event has made this actor fail, as far as remembered."""
        return self._failed_on.count(event_id)

    async def put(self, envelope: Envelope) -> None:
        """Queue an envelope; waits while the mailbox is full (runtime only)."""
        self.senders += 1
        try:
            await self.mailbox.put(envelope)
        finally:
            self.senders -= 1
        if self.stopped:
            self._refuse_queued()
            raise Stopping(f"{self.address} was stopped")

    async def _run(self) -> None:
        try:
            while True:
                try:
                    async with asyncio.timeout(self.system.idle_seconds):
                        envelope = await self.mailbox.get()
                except TimeoutError:
                    if self.idle:
                        return
                else:
                    if envelope.abandoned:  # by a task of an instance that failed: no reason to load the next one
                        self.system.outstanding.settle()
                        continue
                    await self._process(envelope)
        finally:
            if not self.stopped:
                self.leave()
            self._refuse_queued()

    @property
    def idle(self) -> bool:
        """Whether nothing is queued, held back or being worked on."""
        return not self.busy and self.mailbox.empty() and not self.senders and not self.tasks

    def leave(self) -> None:
        """Unload the actor; whoever needs it again gets a new one (runtime only)."""
        self.stopped = True
        self.system.cells.pop(self.address, None)
        self._restart()

    async def _process(self, envelope: Envelope) -> None:
        self.busy = True
        try:
            if isinstance(envelope.message, Exception):  # left a task of this actor
                raise envelope.message
            answer = await (await self._loaded()).handle(envelope.message)
        except Refused as refusal:
            envelope.fail(refusal)
        except asyncio.CancelledError:
            envelope.fail(Stopping(f"{self.address} was stopped"))
            raise
        except Exception as error:  # supervision: whatever a handler raises ends here
            log.error("%s failed on %s", self.address, type(envelope.message).__name__, exc_info=error)
            loaded = self.actor is not None
            if loaded and envelope.event_id is not None:
                self._failed_on.append(envelope.event_id)
            self._restart()
            envelope.fail(ActorFailed(f"{self.address} failed: {type(error).__name__}"))
            if loaded:
                await self._come_back()
        else:
            envelope.succeed(answer)
        finally:
            self.busy = False
            self.system.outstanding.settle()

    async def _loaded(self) -> Actor:
        if self.actor is None:
            actor = self.system.factories[self.address.kind](self)
            await actor.load()
            self.actor = actor
        return self.actor

    async def _come_back(self) -> None:
        """Load again at once, so that what the failed instance had begun goes on; but not for ever in a row."""
        self.failures.append(asyncio.get_running_loop().time())
        if len(self.failures) == RELOADS and self.failures[-1] - self.failures[0] < RELOAD_SECONDS:
            log.error("%s fails again and again and is left until it gets another message", self.address)
            return
        try:
            await self._loaded()
        except Exception as error:
            log.error("%s cannot be loaded again", self.address, exc_info=error)

    def _restart(self) -> None:
        for task in self.tasks:
            task.cancel()
        if self.actor is not None:
            self.actor.unload()
        self.actor = None

    def _refuse_queued(self) -> None:
        while not self.mailbox.empty():
            self.mailbox.get_nowait().fail(Stopping(f"{self.address} was stopped"))
            self.system.outstanding.settle()

    async def _guard(self, work: Work) -> None:
        try:
            message = await work
        except Exception as error:  # noqa: BLE001 - supervision: it fails the actor, below
            message = error
        if message is not None:
            await self.system.tell(self.address, message)

    def _task_done(self, task: asyncio.Task[None], work: Work) -> None:
        work.close()  # a task cancelled before its first step never awaited it
        self.tasks.discard(task)
        self.system.outstanding.settle()


class ActorSystem:
    """Finds or loads actors by address and delivers messages to them.

    factories: by kind of address. capacity: messages a mailbox holds. idle_seconds: how long an idle actor stays
    loaded. most: actors loaded at one time; over it, idle ones go sooner, those used longest ago first.
    """

    def __init__(
        self, factories: Factories, *, capacity: int = 1000, idle_seconds: float = 600.0, most: int = 5000
    ) -> None:
        self.factories = factories
        self.capacity = capacity
        self.idle_seconds = idle_seconds
        self.most = most
        self.cells: dict[Address, Context] = {}
        self.outstanding = Outstanding()
        self.closed = False  # the bot is shutting down

    async def tell(self, address: Address, message: object) -> None:
        """Put a message into a mailbox; waits while it is full. Raises Stopping."""
        await self._deliver(address, Envelope(message))

    async def ask(self, address: Address, request: Request[R]) -> R:
        """Send a request and return its answer. Raises Refused, ActorFailed or Stopping."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        await self._deliver(address, Envelope(request, answer, followed()))
        return cast("R", await answer)

    def loaded(self, kind: str) -> tuple[Address, ...]:
        """Return the addresses of the actors of a kind that are loaded now, or about to be."""
        return tuple(address for address in self.cells if address.kind == kind)

    @property
    def depths(self) -> tuple[int, ...]:
        """How many messages wait in each loaded actor's mailbox, those of senders held back by a full one included."""
        return tuple(cell.mailbox.qsize() + cell.senders for cell in self.cells.values())

    async def drain(self, seconds: float) -> bool:
        """Wait until no message is queued and no handler or task runs; False when that took too long."""
        return await self.outstanding.wait(seconds)

    async def close(self) -> None:
        """Stop every actor; whoever still waits for an answer is told Stopping. What was not done is in the journal."""
        self.closed = True
        running = [task for cell in self.cells.values() for task in (*cell.tasks, cell.runner)]
        for cell in list(self.cells.values()):
            cell.runner.cancel()  # which cancels its tasks, once: a second time would cut off their clean-up
        await asyncio.gather(*running, return_exceptions=True)

    async def _deliver(self, address: Address, envelope: Envelope) -> None:
        cell = self._cell(address)
        self.outstanding.expect()
        try:
            await cell.put(envelope)
        except asyncio.CancelledError:
            self.outstanding.settle()
            raise

    def _cell(self, address: Address) -> Context:
        if self.closed:
            raise Stopping("the bot is shutting down")
        cell = self.cells.pop(address, None)
        if cell is None:
            self._make_room()
            cell = Context(self, address)
        self.cells[address] = cell  # at the end: `cells` is in the order of use
        return cell

    def _make_room(self) -> None:
        """Unload idle actors, those used longest ago first, until one more may be loaded; as far as any are idle."""
        over = max(0, len(self.cells) + 1 - self.most)
        for cell in list(islice((cell for cell in self.cells.values() if cell.idle), over)):
            cell.leave()
            cell.runner.cancel()
