"""Runs under a name: keyed runs, and sessions for loops that are not ours (DURABILITY C7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio
import pytest

from salvor.errors import ToolFailed
from salvor.events.fold import RunState
from salvor.events.vocabulary import RunStarted, ToolCallRequested
from salvor.run_errors import (
    CallIdConflict,
    KeyedConflict,
    LeaseHeld,
    RunEnded,
    SessionStopped,
    UnknownRun,
)
from salvor.runtime.keyed import Keyed
from salvor.runtime.named import named_run_id
from salvor.runtime.outcome import Completed, OpenWrite, Parked
from salvor.runtime.resolve import ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.session_log import SESSION_HASH
from salvor.runtime.workflow import workflow
from salvor.store_errors import Divergence
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from salvor.values import content_hash
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import WORLD, World, fresh_world, happened, look, notify, pay, paying, send

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 7, 9, tzinfo=UTC))


@tool(effect="write")
async def choose(what: str) -> str:
    """Ask somebody."""
    WORLD.log.append(f"choose {what}")
    return suspend(f"which {what}?", str)


@pytest.fixture
def runtime(make_runtime: MakeRuntime, clock: FakeClock) -> Runtime:
    runtime = make_runtime(clock=clock)
    for one in (look, notify, send, pay, choose):
        runtime.registry.add(one)
    return runtime


@workflow
async def asking(run: Run, what: str) -> str:
    await run.call(notify, what)
    return await run.suspend(f"{what}?", str)


def test_a_name_is_one_id_everywhere_and_no_other_name_is() -> None:
    first = named_run_id("keyed", "default", "settle-2026-11")

    assert UUID(first).version == 8
    assert first == named_run_id("keyed", "default", "settle-2026-11")
    others = {
        named_run_id("session", "default", "settle-2026-11"),
        named_run_id("keyed", "other", "settle-2026-11"),
        named_run_id("keyed", "default", "settle-2026-12"),
        named_run_id("keyed", "defaultsettle", "-2026-11"),
    }
    assert len(others | {first}) == 5


async def test_a_keyed_run_is_started_once_and_gone_on_with(
    make_runtime: MakeRuntime, clock: FakeClock, world: World
) -> None:
    first = make_runtime(clock=clock)
    parked = await first.keyed("desk").run(asking, "c1")
    again = await make_runtime(first.store, clock=clock).keyed("desk").run(asking, what="c1")
    await first.answer(parked.run_id, "yes", workflow=asking)
    done = await first.keyed("desk").run(asking, "c1")
    reported = await first.keyed("desk").run(asking, "c1")

    assert isinstance(parked, Parked)
    assert again.run_id == parked.run_id == first.keyed("desk").run_id
    assert isinstance(done, Completed)
    assert reported == done
    assert world.log == ["notify c1"]


async def test_a_name_of_another_run_is_refused(runtime: Runtime, world: World) -> None:
    await runtime.keyed("desk").run(asking, "c1")

    with pytest.raises(KeyedConflict, match="other input"):
        await runtime.keyed("desk").run(asking, "c2")
    with pytest.raises(KeyedConflict, match="workflow asking"):
        await runtime.keyed("desk").run(paying, claim_id="c1")
    assert world.log == ["notify c1"]


async def test_a_version_of_another_day_is_refused_also_when_the_run_has_ended(
    runtime: Runtime,
) -> None:
    @workflow(name="asking", version="2")
    async def changed(run: Run, what: str) -> int:
        return 7

    @workflow(name="asking")
    async def retyped(run: Run, what: str) -> int:
        return 7

    parked = await runtime.keyed("desk").run(asking, "c1")
    with pytest.raises(KeyedConflict, match="workflow asking version 1"):
        await runtime.keyed("desk").run(changed, "c1")
    await runtime.resume(parked.run_id, asking, answer="yes")
    with pytest.raises(KeyedConflict, match="workflow asking version 1"):
        await runtime.keyed("desk").run(changed, "c1")
    for verb in (runtime.resume, runtime.wake):
        with pytest.raises(Divergence, match="recorded is asking version 1"):
            await verb(parked.run_id, changed)
        with pytest.raises(Divergence, match="an output of another type"):
            await verb(parked.run_id, retyped)


class Outrun:
    """A runtime before which another one begins the run, just after nobody had."""

    def __init__(self, runtime: Runtime) -> None:
        self.resume, self.start, self._runtime = runtime.resume, runtime.start, runtime
        self.faster: list[tuple[Any, Any]] = []

    async def state(self, run_id: str) -> RunState:
        try:
            return await self._runtime.state(run_id)
        except UnknownRun:
            for begun in self.faster:
                await self._runtime.start(*begun, run_id=run_id)
            raise


async def test_who_begins_a_keyed_run_second_goes_on_with_it(
    runtime: Runtime, world: World
) -> None:
    drives = Outrun(runtime)
    drives.faster = [(asking, {"what": "c1"})]
    going = Keyed[str](drives, "desk", runtime.keyed("desk").run_id)
    parked = await going.run(asking, "c1")
    drives.faster = [(asking, {"what": "c2"})]
    other = Keyed[str](drives, "other", runtime.keyed("other").run_id)

    assert isinstance(parked, Parked)
    assert world.log == ["notify c1"]
    with pytest.raises(KeyedConflict, match="other input"):
        await other.run(asking, "c1")
    assert world.log == ["notify c1", "notify c2"]


@pytest.mark.parametrize("name", ["", " ", 5])
def test_a_name_is_text(runtime: Runtime, name: Any) -> None:
    with pytest.raises(ValueError, match="a name has to be text"):
        runtime.keyed(name)


async def test_c7_calls_of_a_session_are_recorded_and_answered_from_the_record(
    make_runtime: MakeRuntime, runtime: Runtime, world: World
) -> None:
    async with runtime.session("order-7") as session:
        first = await session.call_named("look", {"claim_id": "c1"}, call_id="a")
        paid = await session.call_named("pay", {"claim_id": "c1", "cents": 5}, call_id="b")
    async with runtime.session("order-7") as session:
        again = await session.call_named("look", {"claim_id": "c1"}, call_id="a")
        paid_again = await session.call_named("pay", {"claim_id": "c1", "cents": 5}, call_id="b")
        in_turn = await session.call_named("look", {"claim_id": "c1"}, call_id="a")

    assert first == again == in_turn == "seen c1"
    assert paid == paid_again
    assert world.log == ["look c1", "pay c1"]
    head, intent, *_ = [e.event for e in (await runtime.history(session.run_id)).envelopes]
    assert isinstance(head, RunStarted)
    assert (head.agent_def_hash, head.input) == (SESSION_HASH, {"session": "order-7"})
    assert content_hash("session") == SESSION_HASH
    assert isinstance(intent, ToolCallRequested)
    assert intent.call_id == "a"


async def test_c7_failures_are_the_same_every_time(runtime: Runtime) -> None:
    said = []
    for _ in range(2):
        async with runtime.session("order-7") as session:
            for name, arguments in (("look", {"claim_id": 5}), ("nobody", {})):
                with pytest.raises(ToolFailed) as caught:
                    await session.call_named(name, arguments, call_id=name)  # type: ignore[arg-type]
                said.append((caught.value.kind, caught.value.message))

    assert said[:2] == said[2:]
    assert [kind for kind, _ in said[:2]] == ["invalid_input", "unknown_tool"]


@pytest.mark.parametrize(
    ("name", "arguments"), [("look", {"claim_id": "c2"}), ("notify", {"claim_id": "c1"})]
)
async def test_c7_one_id_for_two_calls_is_refused(
    runtime: Runtime, world: World, name: str, arguments: Any
) -> None:
    async with runtime.session("order-7") as session:
        await session.call_named("look", {"claim_id": "c1"}, call_id="a")
        with pytest.raises(CallIdConflict):
            await session.call_named(name, arguments, call_id="a")

    assert world.log == ["look c1"]


async def test_c7_calls_wait_for_one_another(runtime: Runtime, world: World) -> None:
    async with runtime.session("order-7") as session, anyio.create_task_group() as group:
        for n in range(4):
            group.start_soon(call_with_id, session, n)

    state = await runtime.state(session.run_id)
    assert state.next_seq == 9
    assert len(world.log) == 4


async def call_with_id(session: Any, n: int) -> None:
    await session.call_named("notify", {"claim_id": f"c{n}"}, call_id=str(n))


async def test_c7_a_session_is_open_in_one_process_at_a_time(
    make_runtime: MakeRuntime, runtime: Runtime, clock: FakeClock
) -> None:
    other = make_runtime(runtime.store, clock=clock)
    async with runtime.session("order-7"):
        with pytest.raises(LeaseHeld):
            async with other.session("order-7"):
                pass
        async with other.session("order-8"):
            pass


async def test_c7_closing_completes_it(runtime: Runtime) -> None:
    async with runtime.session("order-7") as session:
        await session.call_named("look", {"claim_id": "c1"}, call_id="a")
        await session.close({"done": True})
        await session.close()
    async with runtime.session("order-7") as session:
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="a") == "seen c1"
        with pytest.raises(RunEnded):
            await session.call_named("look", {"claim_id": "c1"}, call_id="b")

    state = await runtime.state(session.run_id)
    assert (state.status, state.output) == ("completed", {"done": True})


async def test_c7_a_read_left_open_is_made_again_when_its_id_comes_again(
    runtime: Runtime, world: World
) -> None:
    run_id = await left_open(runtime, "slow_read")
    async with runtime.session("order-7") as session:
        with pytest.raises(SessionStopped, match="make it again, by its id"):
            await session.call_named("look", {"claim_id": "c1"}, call_id="b")
        with pytest.raises(CallIdConflict):
            await session.call_named("slow_read", {"what": "other"}, call_id="a")
        found = await session.call_named("slow_read", {"what": "it"}, call_id="a")
        after = await session.call_named("look", {"claim_id": "c1"}, call_id="b")

    assert (found, after) == ("it", "seen c1")
    assert (await runtime.state(run_id)).next_seq == 5


async def test_c7_a_write_left_open_refuses_everything_until_it_is_resolved(
    runtime: Runtime, world: World
) -> None:
    run_id = await left_open(runtime, "slow_write")
    async with runtime.session("order-7") as session:
        for name, call_id in (("slow_write", "a"), ("look", "b")):
            with pytest.raises(SessionStopped) as caught:
                await session.call_named(name, {"what": "it"}, call_id=call_id)
            assert isinstance(caught.value.result, OpenWrite)
        with pytest.raises(SessionStopped):
            await session.close()
    await runtime.resolve(run_id, ResolvedOutput("it"))
    async with runtime.session("order-7") as session:
        assert await session.call_named("slow_write", {"what": "it"}, call_id="a") == "it"


async def left_open(runtime: Runtime, name: str) -> str:
    """Cancel the task in the middle of a call: a crash, as far as the log knows."""
    runtime.registry.add(slow_read)
    runtime.registry.add(slow_write)
    SLOW.append("stall")
    run_id = ""
    with anyio.move_on_after(0.05):
        async with runtime.session("order-7") as session:
            run_id = session.run_id
            await session.call_named(name, {"what": "it"}, call_id="a")
    SLOW.clear()
    return run_id


SLOW: list[str] = []


@tool(effect="read")
async def slow_read(what: str) -> str:
    """Read, perhaps for ever."""
    if SLOW:
        await anyio.sleep_forever()
    return what


@tool(effect="write")
async def slow_write(what: str) -> str:
    """Write, perhaps for ever."""
    if SLOW:
        await anyio.sleep_forever()
    return what


async def test_c7_a_write_that_failed_stops_the_session(runtime: Runtime, world: World) -> None:
    world.trouble = [happened(None)]
    async with runtime.session("order-7") as session:
        with pytest.raises(SessionStopped) as caught:
            await session.call_named("send", {"claim_id": "c1"}, call_id="a")
        with pytest.raises(SessionStopped):
            await session.call_named("look", {"claim_id": "c1"}, call_id="b")

    assert isinstance(caught.value.result, OpenWrite)


async def test_c7_a_tool_that_parks_is_answered_and_its_call_goes_on(
    runtime: Runtime, world: World
) -> None:
    async with runtime.session("order-7") as session:
        with pytest.raises(SessionStopped) as caught:
            await session.call_named("choose", {"what": "seat"}, call_id="a")
    assert isinstance(caught.value.result, Parked)
    async with runtime.session("order-7") as session:
        for call_id in ("a", "b"):
            with pytest.raises(SessionStopped):
                await session.call_named("choose", {"what": "seat"}, call_id=call_id)
    await runtime.answer(session.run_id, "2A")
    async with runtime.session("order-7") as session:
        assert await session.call_named("choose", {"what": "seat"}, call_id="a") == "2A"
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="b") == "seen c1"

    assert world.log == ["choose seat", "look c1"]


async def test_d2_a_call_of_a_session_is_approved_like_any_other(
    clock: FakeClock, world: World
) -> None:
    from salvor.registry.registry import Registry
    from salvor.stores.memory import MemoryStore
    from salvor.testing.clock import FakeIds
    from salvor.tools.approval import ApprovalRule

    registry = Registry()
    registry.add(send)
    async with Runtime(
        store=MemoryStore(clock=clock),
        registry=registry,
        clock=clock,
        ids=FakeIds(),
        approvals=(ApprovalRule(tools=("send",)),),
    ) as runtime:
        async with runtime.session("order-7") as session:
            with pytest.raises(SessionStopped):
                await session.call_named("send", {"claim_id": "c1"}, call_id="a")
        await runtime.approve(session.run_id, True, by="ada")
        async with runtime.session("order-7") as session:
            assert await session.call_named("send", {"claim_id": "c1"}, call_id="a") == "sent"
            with pytest.raises(SessionStopped):
                await session.call_named("send", {"claim_id": "c1"}, call_id="b")

    assert world.log == ["send c1"]
