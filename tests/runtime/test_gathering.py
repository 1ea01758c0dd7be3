from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import anyio
import pytest

from salvor.errors import ConcurrentUseError, ToolFailed
from salvor.events.vocabulary import ToolCallCompleted, ToolCallRequested
from salvor.runtime.caller import CallSpec, spec
from salvor.runtime.gathering import CallsFailed
from salvor.runtime.outcome import Completed, Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Divergence
from salvor.testing.clock import FakeClock
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import World, fresh_world, happened, send

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


class Meeting:
    """Lets reads wait for one another, and says in which order they end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.failing: set[str] = set()
        self.events: dict[str, anyio.Event] = {}

    def forget(self) -> None:
        self.begun, self.ended, self.failing, self.events = [], [], set(), {}


MEETING = Meeting()


@pytest.fixture(autouse=True)
def meeting() -> Iterator[Meeting]:
    MEETING.forget()
    yield MEETING


@tool(effect="read", retry=Retry(attempts=1, backoff=0))
async def last_first(name: str, after: str | None = None) -> str:
    """Read, ending only after another one did."""
    MEETING.begun.append(name)
    if after is not None:
        await MEETING.events.setdefault(after, anyio.Event()).wait()
    MEETING.ended.append(name)
    MEETING.events.setdefault(name, anyio.Event()).set()
    if name in MEETING.failing:
        raise ValueError(f"{name} is not there")
    return name.upper()


@tool(effect="read", retry=Retry(attempts=3, backoff=0))
async def shaky(name: str) -> int:
    """Read, failing twice."""
    MEETING.begun.append(name)
    if MEETING.begun.count(name) < 3:
        raise happened(False)
    return MEETING.begun.count(name)


@tool(effect="read")
async def parks(name: str) -> bool:
    """Ask somebody."""
    return suspend(f"{name}?", bool)


@workflow
async def all_three(run: Run) -> list[str]:
    return list(
        await run.gather(
            spec(last_first, "a", after="b"),
            spec(last_first, "b", after="c"),
            spec(last_first, "c"),
        )
    )


async def pairs(runtime: Runtime, run_id: str) -> list[tuple[int, str]]:
    found = []
    for envelope in (await runtime.history(run_id)).envelopes:
        if isinstance(envelope.event, ToolCallRequested):
            assert isinstance(envelope.event.input, dict)
            found.append((envelope.seq, str(envelope.event.input["name"])))
        elif isinstance(envelope.event, ToolCallCompleted):
            assert envelope.event.seq == envelope.seq - 1
    return found


async def test_c2_reads_run_together_and_are_recorded_in_the_order_they_were_asked_for(
    runtime: Runtime, meeting: Meeting
) -> None:
    result = await runtime.run(all_three)

    assert isinstance(result, Completed)
    assert result.output == ["A", "B", "C"]
    assert meeting.ended == ["c", "b", "a"]
    assert await pairs(runtime, result.run_id) == [(1, "a"), (3, "b"), (5, "c")]


async def test_c2_what_is_recorded_is_not_read_again(
    make_runtime: MakeRuntime, meeting: Meeting
) -> None:
    runtime = make_runtime()
    result = await runtime.run(all_three)
    again = await make_runtime(runtime.store).resume(result.run_id, all_three)

    assert again == result
    assert sorted(meeting.begun) == ["a", "b", "c"]


async def test_c2_each_is_told_the_place_it_is_recorded_at(runtime: Runtime) -> None:
    from salvor.tools.context import Context

    @tool(effect="read")
    async def place(ctx: Context, name: str) -> int:
        """Where am I?"""
        return ctx.position

    @workflow
    async def flow(run: Run) -> list[int]:
        return list(await run.gather(spec(place, "a"), spec(place, "b")))

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == [1, 3]


async def test_c2_all_end_and_the_errors_are_collected(runtime: Runtime, meeting: Meeting) -> None:
    meeting.failing = {"b", "c"}
    caught: list[BaseException] = []

    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.gather(
                spec(last_first, "a", after="c"), spec(last_first, "b"), spec(last_first, "c")
            )
        except CallsFailed as failed:
            caught.append(failed)
        return await run.call(last_first, "d")

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "D"
    assert set(meeting.ended) == {"a", "b", "c", "d"}
    [group] = caught
    assert isinstance(group, CallsFailed)
    assert [(type(one), one.message) for one in group.exceptions] == [
        (ToolFailed, "last_first: ValueError: b is not there"),
        (ToolFailed, "last_first: ValueError: c is not there"),
    ]


async def test_c5_failed_calls_that_nobody_catches_end_the_run(
    runtime: Runtime, meeting: Meeting
) -> None:
    meeting.failing = {"b"}

    @workflow
    async def flow(run: Run) -> None:
        await run.gather(spec(last_first, "a"), spec(last_first, "b"))

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert result.final
    assert "b is not there" in result.error


async def test_c2_each_call_has_its_own_attempts(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> list[int]:
        return list(await run.gather(spec(shaky, "a"), spec(shaky, "b")))

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == [3, 3]
    events = [e.event for e in (await runtime.history(result.run_id)).envelopes]
    done = [event for event in events if isinstance(event, ToolCallCompleted)]
    assert [len(event.attempts or ()) for event in done] == [2, 2]


async def test_c2_refused_arguments_take_their_place(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> list[str]:
        try:
            await run.gather(
                spec(last_first, "a"),
                CallSpec(last_first, (), {"nme": "b"}),
                CallSpec(last_first, (), {"name": 5}),
                spec(last_first, "d"),
            )
        except CallsFailed as failed:
            return [one.kind for one in failed.exceptions if isinstance(one, ToolFailed)]
        return []

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["invalid_input", "invalid_input"]


async def test_c2_writes_are_refused_and_nothing_is_recorded(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def flow(run: Run) -> None:
        await run.gather(spec(last_first, "a"), spec(send, "c1"))

    run_id = runtime.new_run_id()
    with pytest.raises(ConcurrentUseError, match="send is declared write"):
        await runtime.start(flow, run_id=run_id)

    assert len((await runtime.history(run_id)).envelopes) == 1
    assert world.log == []


async def test_c2_a_coroutine_is_no_specification(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> None:
        coroutine = last_first("a")
        try:
            await run.gather(cast("Any", coroutine))
        finally:
            coroutine.close()

    with pytest.raises(ConcurrentUseError, match="call specifications, got coroutine"):
        await runtime.run(flow)


async def test_c2_a_read_that_asks_to_park_among_others_fails(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.gather(spec(parks, "sure"))
        except CallsFailed as failed:
            return str(failed.exceptions[0])
        return ""

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert "cannot" in result.output


async def test_c2_no_calls_give_no_values(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> int:
        return len(await run.gather())

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == 0


async def test_c2_another_step_meanwhile_is_refused(runtime: Runtime, meeting: Meeting) -> None:
    @workflow
    async def flow(run: Run) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run.gather, spec(last_first, "a", after="never"))
            await anyio.lowlevel.checkpoint()
            group.start_soon(run.now)

    with pytest.raises(ConcurrentUseError, match="gather"):
        with anyio.move_on_after(5):
            await runtime.run(flow)
    assert meeting.ended == []


async def test_b4_a_call_that_is_asked_for_in_another_order_is_a_divergence(
    make_runtime: MakeRuntime,
) -> None:
    @workflow(name="flow")
    async def before(run: Run) -> str:
        await run.gather(spec(last_first, "a"), spec(last_first, "b"))
        return await run.suspend("sure?", str)

    @workflow(name="flow")
    async def after(run: Run) -> str:
        await run.gather(spec(last_first, "b"), spec(last_first, "a"))
        return await run.suspend("sure?", str)

    runtime = make_runtime(clock=FakeClock())
    parked = await runtime.run(before)

    with pytest.raises(Divergence) as caught:
        await runtime.resume(parked.run_id, after)
    assert (caught.value.position, caught.value.field) == (1, "input/name")
