"""Approval of calls before they are made (DURABILITY D2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from salvor.errors import ToolFailed
from salvor.events.vocabulary import ParkedCall, Resumed, ToolCallCompleted, ToolCallRequested
from salvor.registry.registry import Registry
from salvor.run_errors import AnswerConflict, AnswerRefused, DeadlinePassed, WrongState
from salvor.runtime.approval import Answer
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.approval import ApprovalRule
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from tests.support.shop import WORLD, World, fresh_world, happened, pay, send

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
LARGE = ApprovalRule(tools=("pay",), when={"cents": {"minimum": 1000}}, deadline=3600.0)


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


def made(clock: FakeClock, *rules: ApprovalRule, store: MemoryStore | None = None) -> Runtime:
    return Runtime(
        store=store or MemoryStore(clock=clock),
        registry=Registry(),
        clock=clock,
        ids=FakeIds(),
        claim_wait=0.0,
        approvals=rules,
    )


@pytest.fixture
async def runtime(clock: FakeClock) -> Any:
    async with made(clock, LARGE) as runtime:
        yield runtime


@workflow
async def paying(run: Run, cents: int, claim_id: str = "c1") -> str:
    try:
        return (await run.call(pay, claim_id=claim_id, cents=cents)).claim_id
    except ToolFailed as failed:
        return f"{failed.kind}: {failed.message} ({failed.extent})"


@tool(effect="write", approval=True, retry=Retry(attempts=3, backoff=0))
async def launch(ctx: Context, rocket: str) -> str:
    """Launch a rocket."""
    WORLD.act(f"launch {rocket}", ctx)
    return "up"


@workflow
async def launching(run: Run, rocket: str = "r1") -> str:
    return await run.call(launch, rocket=rocket)


async def events(runtime: Runtime, run_id: str) -> list[Any]:
    return [envelope.event for envelope in (await runtime.history(run_id)).envelopes]


async def test_d2_a_call_below_the_rule_is_made_at_once(runtime: Runtime, world: World) -> None:
    done = await runtime.run(paying, 999)

    assert isinstance(done, Completed)
    assert world.log == ["pay c1"]


async def test_d2_a_yes_lets_exactly_that_call_be_made(runtime: Runtime, world: World) -> None:
    parked = await runtime.run(paying, 1000)

    assert isinstance(parked, Parked)
    assert parked.wants_approval
    assert parked.reason == 'Approve pay{"cents":1000,"claim_id":"c1"} [write]?'
    assert world.log == []
    state = await runtime.approve(parked.run_id, True, by="ada", note="fine")
    done = await runtime.resume(parked.run_id, paying)

    assert state.status == "running"
    assert isinstance(done, Completed)
    assert done.output == "c1"
    assert world.log == ["pay c1"]
    _, park, answer, intent, completion, _ = await events(runtime, parked.run_id)
    assert park.call.tool == "pay" and park.call.seq is None
    assert answer == Resumed(input={"approved": True, "note": "fine"}, answers=1, by="ada")
    assert isinstance(intent, ToolCallRequested)
    assert isinstance(completion, ToolCallCompleted)
    assert await runtime.resume(parked.run_id, paying) == done


async def test_d2_a_no_refuses_the_call_and_is_recorded_as_its_end(
    runtime: Runtime, world: World
) -> None:
    parked = await runtime.run(paying, 1000)
    await runtime.approve(parked.run_id, False, by="ada", note="too much")
    done = await runtime.resume(parked.run_id, paying)
    again = await runtime.resume(parked.run_id, paying)

    assert isinstance(done, Completed)
    assert done.output == "denied: pay: it was not approved: too much (no)"
    assert again == done
    assert world.log == []


async def test_d2_anything_but_an_explicit_yes_is_refused_or_a_no(
    runtime: Runtime, world: World
) -> None:
    parked = await runtime.run(paying, 1000)

    for answer in (True, {"approved": "yes"}, {"approved": 1}, {}, {"approved": True, "x": 1}):
        with pytest.raises(AnswerRefused):
            await runtime.answer(parked.run_id, answer)  # type: ignore[arg-type]
    assert world.log == []


async def test_d2_nobody_said_anything_in_time_is_a_no(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    parked = await runtime.run(paying, 1000)
    clock.move(3600.5)
    with pytest.raises(DeadlinePassed):
        await runtime.approve(parked.run_id, True, by="ada")
    done = await runtime.wake(parked.run_id, paying)

    assert isinstance(done, Completed)
    assert done.output == "denied: pay: it was not approved (no)"
    assert world.log == []


async def test_d2_the_second_of_two_people_is_told(runtime: Runtime) -> None:
    parked = await runtime.run(paying, 1000)
    assert isinstance(parked, Parked)
    await runtime.approve(parked.run_id, False, park=parked.park_seq, by="ada")

    with pytest.raises(AnswerConflict):
        await runtime.approve(parked.run_id, True, park=parked.park_seq, by="eve")
    with pytest.raises(WrongState, match="asks for no approval"):
        await runtime.approve(parked.run_id, True, by="eve")
    done = await runtime.resume(parked.run_id, paying)
    assert isinstance(done, Completed)
    for said in (True, False):
        with pytest.raises(AnswerConflict):
            await runtime.approve(parked.run_id, said, park=parked.park_seq, by="eve")


async def test_d1_an_approval_names_its_park(runtime: Runtime) -> None:
    parked = await runtime.run(paying, 1000)

    with pytest.raises(WrongState, match="asks nothing at event 7"):
        await runtime.approve(parked.run_id, True, park=7, by="ada")
    assert (await runtime.state(parked.run_id)).status == "suspended"


async def test_d2_a_tool_asks_by_its_own_word(runtime: Runtime, world: World) -> None:
    parked = await runtime.run(launching)
    await runtime.approve(parked.run_id, True, by="ada")
    done = await runtime.resume(parked.run_id, launching)

    assert isinstance(done, Completed)
    assert world.log == ["launch r1"]


async def test_b2_an_approval_is_used_up_by_one_intent(runtime: Runtime, world: World) -> None:
    world.trouble = [happened(False), None]
    parked = await runtime.run(launching)
    await runtime.approve(parked.run_id, True, by="ada")
    asked_again = await runtime.resume(parked.run_id, launching)

    assert isinstance(asked_again, Parked)
    assert asked_again.park_seq == 5
    assert world.log == []
    await runtime.approve(parked.run_id, True, by="ada")
    done = await runtime.resume(parked.run_id, launching)

    assert isinstance(done, Completed)
    assert world.log == ["launch r1"]
    assert len(set(world.keys)) == 1
    assert [type(event).__name__ for event in await events(runtime, parked.run_id)] == [
        "RunStarted",
        *["Suspended", "Resumed", "ToolCallRequested", "ToolCallCompleted"] * 2,
        "RunCompleted",
    ]
    assert await runtime.resume(parked.run_id, launching) == done


async def test_d2_a_call_that_changed_is_asked_about_anew(clock: FakeClock, world: World) -> None:
    store = MemoryStore(clock=clock)
    async with made(clock, LARGE, store=store) as first:
        parked = await first.run(paying, 1000)
        await first.approve(parked.run_id, True, by="ada")

        @tool(effect="write", idempotency_key="claim_id", name="pay")
        def dearer(claim_id: str, cents: int, fee: int = 5) -> dict[str, Any]:
            """Pay a claim, with a fee."""
            WORLD.log.append(f"dearer {claim_id}")
            return {"claim_id": claim_id, "cents": cents}

        @workflow(name="paying")
        async def changed(run: Run, cents: int, claim_id: str = "c1") -> str:
            found: dict[str, Any] = await run.call(dearer, claim_id=claim_id, cents=cents)
            return str(found["claim_id"])

        asked = await Runtime(
            store=store,
            registry=Registry(),
            clock=clock,
            ids=FakeIds(1),
            approvals=(LARGE,),
        ).resume(parked.run_id, changed)

    assert isinstance(asked, Parked)
    assert asked.park_seq == 3
    assert world.log == []


async def test_b4_a_recorded_answer_counts_although_the_rules_changed(
    clock: FakeClock, world: World
) -> None:
    store = MemoryStore(clock=clock)
    async with made(clock, LARGE, store=store) as strict:
        parked = await strict.run(paying, 1000)
        await strict.approve(parked.run_id, False, by="ada")
        done = await made(clock, store=store).resume(parked.run_id, paying)

    assert isinstance(done, Completed)
    assert done.output.startswith("denied")
    assert world.log == []


async def test_d2_refused_arguments_are_not_asked_about(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call_named("pay", {"claim_id": "c1", "cents": "lots"})
        except ToolFailed as failed:
            return failed.kind
        return ""

    runtime.registry.add(pay)
    done = await runtime.run(flow)

    assert isinstance(done, Completed)
    assert done.output == "invalid_input"


async def test_no_approval_is_asked_where_none_was(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> bool:
        return await run.suspend("sure?", bool)

    parked = await runtime.run(flow)
    with pytest.raises(WrongState, match="asks for no approval"):
        await runtime.approve(parked.run_id, True, by="ada")


async def test_a_failure_that_nobody_catches_ends_the_run(clock: FakeClock) -> None:
    async with made(clock, ApprovalRule(effects=("write",))) as runtime:

        @workflow
        async def flow(run: Run) -> str:
            return await run.call(send, "c1")

        parked = await runtime.run(flow)
        await runtime.approve(parked.run_id, False, by="ada")
        failed = await runtime.resume(parked.run_id, flow)

    assert isinstance(failed, Failed)
    assert failed.final
    assert isinstance(parked, Parked)


CALL = ParkedCall(
    tool="pay", effect="write", input={"cents": 1}, idempotency_key="{}", tool_digest="sha256:aa"
)


@pytest.mark.parametrize(
    "changed",
    [
        {"tool": "payer"},
        {"effect": "idempotent"},
        {"input": {"cents": 2}},
        {"input": {"cents": True}},
        {"idempotency_key": None},
        {"tool_digest": "sha256:bb"},
    ],
)
def test_d2_a_yes_covers_the_very_call_it_was_given_to_and_no_other(
    changed: dict[str, Any],
) -> None:
    answer = Answer(CALL, {"approved": True})

    assert answer.covers(replace(CALL, seq=9))
    assert not answer.covers(replace(CALL, **changed))


async def test_b2_a_call_that_was_said_not_done_is_asked_about_again(
    clock: FakeClock, world: World
) -> None:
    async with made(clock) as runtime:
        parked = await runtime.run(launching)
        world.trouble = [happened(None)]
        await runtime.approve(parked.run_id, True)
        assert isinstance(await runtime.resume(parked.run_id, launching), OpenWrite)
        await runtime.resolve(parked.run_id, NotDone(worker_dead=True))
        again = await runtime.resume(parked.run_id, launching)

        assert isinstance(again, Parked)
        assert again.wants_approval
        assert world.log == []
        await runtime.approve(parked.run_id, True)
        assert isinstance(await runtime.resume(parked.run_id, launching), Completed)
