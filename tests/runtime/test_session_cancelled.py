"""Calls of a session that are cut off while it stays open (DURABILITY A7, C7)."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import pytest

from salvor.events.records import Append, Stands
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.run_errors import CallIdConflict, SessionStopped, WrongState
from salvor.runtime.outcome import OpenWrite, Parked
from salvor.runtime.runtime import Runtime
from salvor.runtime.session import Session
from salvor.store_errors import StoreFull
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeStore
from tests.support.shop import WORLD, World, fresh_world, look, pay

pytestmark = pytest.mark.anyio


Call = Callable[[], Coroutine[Any, Any, Any]]


class Door:
    """Holds bodies back while it is closed; tells when one stands before it."""

    def __init__(self) -> None:
        self.closed = False
        self.reached = anyio.Event()
        self.opened = anyio.Event()

    async def pass_by(self) -> None:
        if self.closed:
            self.reached.set()
            await self.opened.wait()


DOORS: list[Door] = []
INSIDE, GATE = threading.Event(), threading.Event()


@tool(effect="read")
async def slow_read(what: str) -> str:
    """Read, perhaps for ever."""
    WORLD.log.append(f"read {what}")
    await DOORS[-1].pass_by()
    return what


@tool(effect="idempotent", idempotency_key="what")
async def slow_mark(what: str) -> str:
    """Mark, perhaps for ever."""
    WORLD.log.append(f"mark {what}")
    await DOORS[-1].pass_by()
    return what


@tool(effect="write", idempotency_key="what")
async def slow_write(what: str) -> str:
    """Write, perhaps for ever."""
    WORLD.log.append(f"write {what}")
    await DOORS[-1].pass_by()
    return what


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    DOORS.append(Door())
    yield DOORS[-1]
    DOORS.clear()


def made(store: Store, clock: FakeClock) -> Runtime:
    registry = Registry()
    for one in (look, pay, slow_read, slow_mark, slow_write):
        registry.add(one)
    return Runtime(store=store, registry=registry, clock=clock, ids=FakeIds(), claim_wait=0.0)


@pytest.fixture
async def runtime(make_store: MakeStore) -> AsyncIterator[Runtime]:
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    async with made(make_store(clock), clock) as runtime:
        yield runtime


async def cut_off(door: Door, call: Call) -> None:
    """Make a call, and cancel it once its body stands before the door."""
    door.closed = True
    door.reached = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await door.reached.wait()
        group.cancel_scope.cancel()
    door.closed = False


@pytest.mark.parametrize("name", ["slow_read", "slow_mark"])
async def test_c7_a_cancelled_read_is_made_again_when_its_id_comes_again(
    runtime: Runtime, door: Door, world: World, name: str
) -> None:
    async with runtime.session("order-7") as session:
        await cut_off(door, lambda: session.call_named(name, {"what": "it"}, call_id="a"))
        for refused in (
            lambda: session.call_named("look", {"claim_id": "c1"}, call_id="b"),
            session.close,
        ):
            with pytest.raises(SessionStopped, match="make it again, by its id") as stopped:
                await refused()
            assert isinstance(stopped.value.result, Parked)
        with pytest.raises(CallIdConflict):
            await session.call_named(name, {"what": "other"}, call_id="a")
        assert await session.call_named(name, {"what": "it"}, call_id="a") == "it"
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="b") == "seen c1"
        await session.close()

    assert len(world.log) == 3
    assert (await runtime.state(session.run_id)).status == "completed"


async def test_c7_a_cancelled_write_refuses_everything_and_is_not_made_again(
    runtime: Runtime, door: Door, world: World
) -> None:
    async with runtime.session("order-7") as session:
        await cut_off(door, lambda: session.call_named("slow_write", {"what": "it"}, call_id="a"))
        for refused in (
            lambda: session.call_named("slow_write", {"what": "it"}, call_id="a"),
            lambda: session.call_named("look", {"claim_id": "c1"}, call_id="b"),
            session.close,
        ):
            with pytest.raises(SessionStopped) as stopped:
                await refused()
            assert isinstance(stopped.value.result, OpenWrite)

    assert world.log == ["write it"]
    (claim,) = await runtime.claims.list()
    assert claim.state == "held"


async def test_c7_a_call_that_is_cancelled_before_its_turn_leaves_no_trace(
    runtime: Runtime, door: Door, world: World
) -> None:
    async with runtime.session("order-7") as session:

        async def two() -> None:
            async with anyio.create_task_group() as group:
                arguments: Any = {"what": "it"}
                group.start_soon(lambda: session.call_named("slow_read", arguments, call_id="a"))
                await door.reached.wait()
                group.start_soon(lambda: session.call_named("slow_write", arguments, call_id="b"))

        await cut_off(door, two)
        assert await session.call_named("slow_read", {"what": "it"}, call_id="a") == "it"
        assert await session.call_named("slow_write", {"what": "it"}, call_id="b") == "it"

    assert world.log == ["read it", "read it", "write it"]


async def test_c7_arguments_are_those_of_the_moment_of_the_call(
    runtime: Runtime, door: Door, world: World
) -> None:
    arguments: Any = {"claim_id": "c1"}
    door.closed = True
    async with runtime.session("order-7") as session, anyio.create_task_group() as group:
        group.start_soon(lambda: session.call_named("slow_read", {"what": "it"}, call_id="a"))
        await door.reached.wait()
        group.start_soon(lambda: session.call_named("look", arguments, call_id="b"))
        await anyio.wait_all_tasks_blocked()
        arguments["claim_id"] = "c2"
        door.opened.set()

    assert world.log == ["read it", "look c1"]


@tool(effect="idempotent", idempotency_key="what")
def thorough(what: str) -> str:
    """Mark, in a thread that nobody can stop."""
    WORLD.log.append(f"thorough {what}")
    INSIDE.set()
    GATE.wait(10.0)
    return what


async def test_a6_no_second_body_of_a_key_begins_while_a_cancelled_one_is_at_it(
    runtime: Runtime, world: World
) -> None:
    runtime.registry.add(thorough)
    GATE.clear()
    INSIDE.clear()
    async with runtime.session("order-7") as session:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(
                    lambda: session.call_named("thorough", {"what": "it"}, call_id="a")
                )
                await anyio.to_thread.run_sync(INSIDE.wait)
                group.cancel_scope.cancel()
            with pytest.raises(SessionStopped, match="still runs in this process"):
                await session.call_named("thorough", {"what": "it"}, call_id="a")
            assert world.log == ["thorough it"]
        finally:
            GATE.set()
        while runtime._host.overtime._bodies:
            await anyio.lowlevel.checkpoint()
        assert await session.call_named("thorough", {"what": "it"}, call_id="a") == "it"

    assert world.log == ["thorough it", "thorough it"]


class Late:
    """A store whose next append is carried out, or is not, and then fails its caller."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.trouble: list[str] = []
        self.reached = anyio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def append(self, append: Append) -> Stands | None:
        trouble = self.trouble.pop() if self.trouble else None
        if trouble == "full":
            raise StoreFull("the disk is full.")
        seen = await self._store.append(append)
        if trouble == "stalled":
            self.reached.set()
            await anyio.sleep_forever()
        return seen


@pytest.fixture
async def late(make_store: MakeStore) -> AsyncIterator[tuple[Runtime, Late]]:
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    store: Any = Late(make_store(clock))
    async with made(store, clock) as runtime:
        yield runtime, store


async def test_c7_an_intent_that_was_cancelled_and_stored_all_the_same_is_seen(
    late: tuple[Runtime, Late], door: Door, world: World
) -> None:
    runtime, store = late
    async with runtime.session("order-7") as session:
        await session.call_named("look", {"claim_id": "c1"}, call_id="0")
        await stalled(store, lambda: session.call_named("look", {"claim_id": "c2"}, call_id="a"))
        assert world.log == ["look c1"]
        assert await session.call_named("look", {"claim_id": "c2"}, call_id="a") == "seen c2"
        assert await session.call_named("look", {"claim_id": "c3"}, call_id="b") == "seen c3"

    assert (await runtime.state(session.run_id)).next_seq == 7


async def test_c7_a_close_that_was_cancelled_and_stored_all_the_same_is_seen(
    late: tuple[Runtime, Late],
) -> None:
    runtime, store = late
    async with runtime.session("order-7") as session:
        await stalled(store, session.close)
        await session.close()

    assert (await runtime.state(session.run_id)).status == "completed"


async def stalled(store: Late, call: Call) -> None:
    store.trouble = ["stalled"]
    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await store.reached.wait()
        group.cancel_scope.cancel()


async def test_c7_an_intent_that_was_not_stored_leaves_no_trace(
    late: tuple[Runtime, Late], world: World
) -> None:
    runtime, store = late
    async with runtime.session("order-7") as session:
        store.trouble = ["full"]
        with pytest.raises(StoreFull):
            await session.call_named("pay", {"claim_id": "c1", "cents": 5}, call_id="a")
        paid = await session.call_named("pay", {"claim_id": "c1", "cents": 5}, call_id="a")

    assert paid.cents == 5
    assert world.log == ["pay c1"]


async def test_c7_the_block_waits_for_the_call_that_is_made_and_refuses_others(
    runtime: Runtime, door: Door, world: World
) -> None:
    door.closed = True
    seen: list[Any] = []

    async def call(session: Session) -> None:
        seen.append(await session.call_named("slow_write", {"what": "it"}, call_id="a"))

    async def block(group: anyio.abc.TaskGroup, opened: list[Session]) -> None:
        async with runtime.session("order-7") as session:
            opened.append(session)
            group.start_soon(call, session)
            await door.reached.wait()

    opened: list[Session] = []
    async with anyio.create_task_group() as group:
        group.start_soon(block, group, opened)
        await door.reached.wait()
        await anyio.wait_all_tasks_blocked()
        (session,) = opened
        assert (await runtime.store.head(session.run_id)).lease is not None
        door.opened.set()

    assert seen == ["it"]
    assert (await runtime.store.head(session.run_id)).lease is None
    assert await session.call_named("slow_write", {"what": "it"}, call_id="a") == "it"
    for refused in (
        lambda: session.call_named("look", {"claim_id": "c1"}, call_id="b"),
        session.close,
    ):
        with pytest.raises(WrongState, match="is not open any more"):
            await refused()
    assert world.log == ["write it"]
