"""The runtime alone: order, parallelism, overflow, failure, unloading and drain."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from actors.actor import Actor, Address
from actors.messages import Request
from actors.runtime import RELOADS, ActorSystem, Context
from memory.errors import ActorFailed, Refused, Stopping

A, B = Address("probe", "a"), Address("probe", "b")


class Echo(Request[str]):
    def __init__(self, text: str) -> None:
        self.text = text


@dataclass
class World:
    """What the probes did, outside any actor so that it survives restarts."""

    seen: list[tuple[str, object]] = field(default_factory=list)
    gates: dict[object, asyncio.Event] = field(default_factory=dict)
    entered: asyncio.Queue[object] = field(default_factory=asyncio.Queue)
    loads: int = 0
    unloads: int = 0
    crash_on: set[object] = field(default_factory=set)

    def system(self, **options: float) -> ActorSystem:
        return ActorSystem({"probe": lambda context: Probe(context, self)}, **options)  # type: ignore[arg-type]


class Probe(Actor):
    def __init__(self, context: Context, world: World) -> None:
        super().__init__(context)
        self.world = world
        self.count = 0

    async def load(self) -> None:
        self.world.loads += 1

    def unload(self) -> None:
        self.world.unloads += 1

    async def handle(self, message: object) -> object | None:
        self.world.entered.put_nowait(message)
        if message in self.world.gates:
            await self.world.gates[message].wait()
        if message in self.world.crash_on:
            raise ValueError("broken")
        self.count += 1
        if isinstance(message, Echo):
            if message.text == "refuse":
                raise Refused("not today")
            if message.text == "crash":
                raise ValueError("broken")
            return f"{message.text} {self.count}"
        if isinstance(message, tuple) and message[0] == "spawn":
            self.context.spawn(self._slow(message[1]))
            return None
        self.world.seen.append((self.context.address.name, message))
        return None

    async def _slow(self, gate: object) -> object:
        await self.world.gates[gate].wait()
        if gate in self.world.crash_on:
            raise ValueError("task broken")
        return f"done {gate}"


async def test_order_is_kept_per_actor() -> None:
    world = World()
    system = world.system(capacity=4)
    for number in range(50):
        await system.tell(A, number)
    assert await system.drain(5)
    assert [message for _, message in world.seen] == list(range(50))
    await system.close()


async def test_actors_run_in_parallel() -> None:
    world = World(gates={"slow": asyncio.Event()})
    system = world.system()
    await system.tell(A, "slow")
    assert await system.ask(B, Echo("hi")) == "hi 1"
    assert world.seen == []
    world.gates["slow"].set()
    assert await system.drain(5)
    assert world.seen == [("a", "slow")]
    await system.close()


async def test_a_full_mailbox_makes_the_teller_wait_and_nothing_vanishes() -> None:
    world = World(gates={"slow": asyncio.Event()})
    system = world.system(capacity=2)
    await system.tell(A, "slow")
    await world.entered.get()
    await system.tell(A, 1)
    await system.tell(A, 2)
    waiting = asyncio.create_task(system.tell(A, 4))
    await asyncio.sleep(0)
    assert not waiting.done()
    world.gates["slow"].set()
    await waiting
    assert await system.drain(5)
    assert [message for _, message in world.seen] == ["slow", 1, 2, 4]
    await system.close()


async def test_failure_reaches_the_asker_and_the_actor_restarts_from_storage(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    system = world.system()
    assert await system.ask(A, Echo("one")) == "one 1"
    with pytest.raises(ActorFailed, match="ValueError"):
        await system.ask(A, Echo("crash"))
    assert "probe a failed on Echo" in caplog.text
    assert await system.ask(A, Echo("again")) == "again 1"
    assert (world.loads, world.unloads) == (2, 1)
    await system.close()


async def test_a_refusal_is_an_answer_not_a_failure() -> None:
    world = World()
    system = world.system()
    with pytest.raises(Refused, match="not today"):
        await system.ask(A, Echo("refuse"))
    assert await system.ask(A, Echo("next")) == "next 2"
    assert world.loads == 1
    await system.close()


async def test_failure_in_a_task_restarts_the_actor_and_cancels_its_other_tasks() -> None:
    world = World(gates={"x": asyncio.Event(), "y": asyncio.Event()}, crash_on={"x"})
    system = world.system()
    await system.tell(A, ("spawn", "y"))
    await system.tell(A, ("spawn", "x"))
    world.gates["x"].set()
    assert await system.drain(5)
    assert world.unloads == 1
    assert await system.ask(A, Echo("alive")) == "alive 1"
    assert world.seen == []  # y was cancelled: its result would belong to the instance that is gone
    await system.close()


async def test_an_actor_whose_own_tasks_make_it_fail_is_left_though_others_of_them_still_wait_in_its_mailbox() -> None:
    """Each instance begins the same two tasks; what the second has asked is in the mailbox when the first one fails."""
    failed = []

    class Poisoned(Actor):
        async def load(self) -> None:
            for _ in range(2):
                self.context.spawn(self._ask())

        async def _ask(self) -> None:
            await self.context.system.ask(self.context.address, Echo("crash"))

        async def handle(self, message: object) -> object | None:
            if message == "load":
                return None
            failed.append(message)
            raise ValueError("broken")

    system = ActorSystem({"poisoned": Poisoned})
    await system.tell(Address("poisoned", "a"), "load")
    assert await system.drain(5), "it goes on for ever"
    assert len(failed) == RELOADS
    await system.close()


async def test_task_result_comes_back_as_a_message() -> None:
    world = World(gates={"x": asyncio.Event()})
    system = world.system()
    await system.tell(A, ("spawn", "x"))
    assert not await system.drain(0.01)
    world.gates["x"].set()
    assert await system.drain(5)
    assert world.seen == [("a", "done x")]
    await system.close()


async def test_drain_loses_nothing() -> None:
    world = World()
    system = world.system(capacity=3)
    tellers = [asyncio.create_task(system.tell(address, n)) for n in range(100) for address in (A, B)]
    await asyncio.gather(*tellers)
    assert await system.drain(5)
    assert sorted(world.seen, key=str) == sorted([(x, n) for n in range(100) for x in "ab"], key=str)
    await system.close()


async def test_close_answers_every_queued_asker_and_every_waiting_sender() -> None:
    world = World(gates={"slow": asyncio.Event()})
    system = world.system(capacity=1)
    await system.tell(A, "slow")
    await world.entered.get()
    askers = [asyncio.create_task(system.ask(A, Echo(str(n)))) for n in range(5)]
    await asyncio.sleep(0)
    await system.close()
    results = await asyncio.wait_for(asyncio.gather(*askers, return_exceptions=True), 5)
    assert [type(result) for result in results] == [Stopping] * 5
    with pytest.raises(Stopping):
        await system.tell(A, "late")
    assert await system.drain(1)


async def test_idle_actors_are_unloaded_and_come_back() -> None:
    world = World()
    system = world.system(idle_seconds=0.02)
    assert await system.ask(A, Echo("one")) == "one 1"
    runner = system.cells[A].runner
    await asyncio.wait_for(runner, 5)
    assert A not in system.cells
    assert world.unloads == 1
    assert await system.ask(A, Echo("two")) == "two 1"
    assert world.loads == 2
    await system.close()


async def test_an_actor_with_a_task_stays_loaded() -> None:
    world = World(gates={"x": asyncio.Event()})
    system = world.system(idle_seconds=0.01)
    await system.tell(A, ("spawn", "x"))
    await world.entered.get()
    assert not await system.drain(0.1)
    assert A in system.cells
    world.gates["x"].set()
    assert await system.drain(5)
    assert world.seen == [("a", "done x")]
    await system.close()


async def test_over_the_limit_the_idle_actor_used_longest_ago_goes_first() -> None:
    world = World(gates={"x": asyncio.Event()})
    system = world.system(most=2)
    first, second, third = (Address("probe", name) for name in ("first", "second", "third"))
    await system.ask(first, Echo("one"))
    await system.ask(second, Echo("one"))
    await system.ask(first, Echo("two"))
    assert await system.ask(third, Echo("one")) == "one 1"
    assert list(system.cells) == [first, third]
    assert world.unloads == 1
    assert await system.ask(second, Echo("two")) == "two 1"
    assert list(system.cells) == [third, second]
    await system.tell(second, ("spawn", "x"))
    await system.tell(third, "x")
    await system.ask(first, Echo("three"))
    assert list(system.cells) == [second, third, first]  # one with a task, one in a handler: neither may go
    world.gates["x"].set()
    assert await system.drain(5)
    await system.close()


async def test_nothing_is_lost_or_reordered_while_actors_come_and_go() -> None:
    world = World()
    system = world.system(most=2, idle_seconds=0.001)
    names = [f"a{number}" for number in range(7)]
    turn = asyncio.Semaphore(1)

    async def talk(name: str) -> None:
        for number in range(50):
            async with turn:
                await asyncio.sleep(0)
            if number % 3:
                await system.tell(Address("probe", name), number)
            else:
                assert (await system.ask(Address("probe", name), Echo(str(number)))).split()[0] == str(number)

    await asyncio.gather(*map(talk, names))
    assert await system.drain(5)
    for name in names:
        assert [said for who, said in world.seen if who == name] == [number for number in range(50) if number % 3]
    await system.ask(A, Echo("last"))
    assert len(system.cells) <= 2
    assert world.unloads > 10 * len(names)
    await system.close()
