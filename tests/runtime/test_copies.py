"""Runs that go to another store: whole, of one moment, and nothing that does not fit together."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from salvor.errors import ToolFailure
from salvor.events.records import Cancel
from salvor.run_errors import CopyRefused, LeaseHeld, WrongState
from salvor.runtime.outcome import Abandoned, Completed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import TamperEvident
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime, MakeStore

pytestmark = pytest.mark.anyio

INSIDE: list[Callable[[str], Any]] = []
SAID: Any = {"reason": "the bank says so", "by": "ada"}
ONCE = Retry(attempts=1)


@tool(effect="write", idempotency_key="key", retry=ONCE)
async def pay(ctx: Context, key: str) -> str:
    """Pay; what is paid for decides how it ends."""
    for act in INSIDE:
        await act(ctx.run_id)
    if key == "lost":
        raise RuntimeError("gone")
    if key == "bad":
        raise ToolFailure("no receipt", happened=True)
    return f"paid {key}"


@workflow
async def paying(run: Run, key: str = "a") -> str:
    return await run.call(pay, key=key)


@workflow
async def asking(run: Run) -> str:
    return await run.suspend("which?", str)


@workflow
async def waiting(run: Run) -> int:
    return await run.signal("go", int)


@pytest.fixture(autouse=True)
def inside() -> None:
    INSIDE.clear()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> AsyncIterator[Runtime]:
    async with make_runtime(make_store(clock), clock=clock, claim_wait=0.0) as runtime:
        yield runtime


@pytest.fixture
async def other(make_runtime: MakeRuntime, clock: FakeClock) -> AsyncIterator[Runtime]:
    async with make_runtime(clock=clock, claim_wait=0.0) as other:
        yield other


async def copied(runtime: Runtime, other: Runtime, run_id: str) -> str:
    return await other.upkeep.adopt(await runtime.upkeep.export(run_id))


async def test_d5_a_cancel_goes_with_its_run(runtime: Runtime, other: Runtime) -> None:
    parked = await runtime.run(asking)
    cancel = Cancel(
        run_id=parked.run_id, reason="closed", by="desk", asked_at=runtime._host.clock.now()
    )
    await runtime.store.cancel(cancel)
    await copied(runtime, other, parked.run_id)

    assert await other.store.cancelled(parked.run_id) == cancel
    assert await other.store.due() == [parked.run_id]
    assert await other.wake(parked.run_id, asking) == Abandoned(
        run_id=parked.run_id, reason="closed", by="desk"
    )


async def test_e2_a_run_that_is_driven_is_not_exported(runtime: Runtime) -> None:
    refused: list[LeaseHeld] = []

    async def export(run_id: str) -> None:
        with pytest.raises(LeaseHeld) as caught:
            await runtime.upkeep.export(run_id)
        refused.append(caught.value)

    INSIDE.append(export)
    done = await runtime.run(paying)

    assert isinstance(done, Completed)
    assert len(refused) == 1


class Meanwhile(MemoryStore):
    """Somebody changes a run while its inbox is read."""

    change: Callable[[], Any] | None = None

    async def inbox(self, run_id: str) -> Any:
        change, type(self).change = type(self).change, None
        if change is not None:
            await change()
        return await super().inbox(run_id)


async def test_e2_a_run_that_is_changed_while_it_is_read_is_not_exported(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    async with make_runtime(Meanwhile(clock=clock), clock=clock) as runtime:
        opened = await runtime.run(paying, key="lost")
        found = NotDone(worker_dead=True)
        Meanwhile.change = staticmethod(lambda: runtime.resolve(opened.run_id, found))
        with pytest.raises(WrongState, match="was changed while it was read"):
            await runtime.upkeep.export(opened.run_id)
        assert len(await runtime.upkeep.export(opened.run_id)) == 5


async def test_e4_an_output_that_an_operator_gave_goes_with_its_claim(
    runtime: Runtime, other: Runtime
) -> None:
    failed = await runtime.run(paying, key="bad")
    [claim] = await runtime.claims.list()
    await runtime.claims.settle(claim.id, ResolvedOutput("receipt 7"), **SAID)
    await copied(runtime, other, failed.run_id)
    again = await other.run(paying, key="bad")

    assert (await other.upkeep.verify()).faults == ()
    assert isinstance(again, Completed)
    assert again.output == "receipt 7"


@pytest.mark.parametrize("flow", [asking, waiting])
async def test_a_run_that_rests_is_due_elsewhere_only_when_it_was(
    runtime: Runtime, other: Runtime, flow: Any
) -> None:
    parked: Any = await runtime.run(flow)
    await copied(runtime, other, parked.run_id)

    assert await other.store.due() == []
    await other.signal(parked.run_id, "else", None)
    assert await other.store.due() == [parked.run_id]


async def test_e5_a_run_that_waits_for_a_key_is_due_elsewhere(
    runtime: Runtime, other: Runtime
) -> None:
    await runtime.run(paying, key="lost")
    stands = await runtime.run(paying, key="lost")
    assert isinstance(stands, Parked)
    assert await runtime.store.due() == []
    await copied(runtime, other, stands.run_id)

    assert await other.store.due() == [stands.run_id]
    assert isinstance(await other.wake(stands.run_id, paying), OpenWrite)


async def test_a_consumed_signal_is_consumed_elsewhere(runtime: Runtime, other: Runtime) -> None:
    parked = await runtime.run(waiting)
    await runtime.signal(parked.run_id, "go", 7)
    done = await runtime.resume(parked.run_id, waiting)
    await copied(runtime, other, parked.run_id)

    assert await other.resume(parked.run_id, waiting) == done
    assert [one.consumed for one in await other.inbox(parked.run_id)] == [2]


def changed(lines: list[str], change: Callable[[list[Any]], Any]) -> list[str]:
    found = [json.loads(line) for line in lines]
    change(found)
    found[0]["lines"] = len(found) - 1
    return [json.dumps(one) for one in found]


def of_kind(found: list[Any], kind: str) -> Any:
    return next(one[kind] for one in found if kind in one)


ODD: dict[str, tuple[Callable[[list[Any]], Any], str]] = {
    "due as a number": (lambda found: found[0].update(due_at=5), "5 is no text"),
    "due as words": (lambda found: found[0].update(due_at="soon"), "has to be RFC 3339"),
    "no due": (lambda found: found[0].pop("due_at"), "'due_at' is missing"),
    "an unknown line": (lambda found: found.append({"note": 1}), "a line is none of row"),
    "a row's place as text": (
        lambda found: of_kind(found, "row").update(seq="0"),
        "seq is '0'",
    ),
    "a row as a list": (lambda found: found[1].update(row=[]), "mistyped"),
    "a claim of another run": (
        lambda found: of_kind(found, "claim").update(run_id="other"),
        "is of run other",
    ),
    "an unknown state": (
        lambda found: of_kind(found, "claim").update(state="kept"),
        "state is 'kept'",
    ),
    "a claim of another call": (
        lambda found: of_kind(found, "claim").update(intent_seq=0),
        "is no call with its key",
    ),
    "a claim on another key": (
        lambda found: of_kind(found, "claim")["id"].update(key='{"key":"b"}'),
        "is no call with its key",
    ),
    "a committed claim of an open call": (
        lambda found: of_kind(found, "claim").update(
            state="committed", completion_seq=2, output_hash="h"
        ),
        "event 2 of run .* is not its output",
    ),
    "a failed claim of an open call": (
        lambda found: of_kind(found, "claim").update(state="failed", extent="yes"),
        "its claim is missing",
    ),
    "no claim": (lambda found: found.pop(), "its claim is missing"),
    "a claim twice": (lambda found: found.append(found[-1]), "twice"),
    "a signal of another run": (
        lambda found: of_kind(found, "signal").update(run_id="other"),
        "is of run other",
    ),
    "a signal that the log did not take": (
        lambda found: of_kind(found, "signal").update(consumed=1),
        "is not where the log has it",
    ),
    "a signal's number": (
        lambda found: of_kind(found, "signal").update(n=2),
        "is not where the log has it",
    ),
    "a signal without its time": (
        lambda found: of_kind(found, "signal").pop("sent_at"),
        "'sent_at' is missing",
    ),
    "a signal that is no JSON": (
        lambda found: of_kind(found, "signal").update(payload="{"),
        "is not JSON",
    ),
}


@pytest.mark.parametrize(("change", "why"), ODD.values(), ids=ODD)
async def test_e2_a_copy_that_does_not_fit_together_is_refused_whole(
    runtime: Runtime, other: Runtime, change: Callable[[list[Any]], Any], why: str
) -> None:
    opened = await runtime.run(paying, key="lost")
    await runtime.signal(opened.run_id, "go", 7)
    lines = await runtime.upkeep.export(opened.run_id)

    with pytest.raises(CopyRefused, match=why):
        await other.upkeep.adopt(changed(lines, change))
    assert not await other.store.runs()
    assert not await other.claims.list()
    await other.upkeep.adopt(changed(lines, lambda found: None))
    assert (await other.upkeep.verify()).faults == ()


async def test_e2_a_claim_that_is_held_by_a_run_that_ended_is_refused(
    runtime: Runtime, other: Runtime
) -> None:
    done = await runtime.run(paying)
    lines = await runtime.upkeep.export(done.run_id)
    held = {"state": "held", "completion_seq": None, "output_hash": None}

    with pytest.raises(CopyRefused, match="it is held, and its call is not open"):
        await other.upkeep.adopt(changed(lines, lambda found: of_kind(found, "claim").update(held)))


@pytest.mark.parametrize("kept", [0, 1, 3])
async def test_a_copy_that_was_cut_off_is_refused(
    runtime: Runtime, other: Runtime, kept: int
) -> None:
    done = await runtime.run(paying)
    lines = await runtime.upkeep.export(done.run_id)

    with pytest.raises(CopyRefused, match="there are none" if not kept else "lines follow"):
        await other.upkeep.adopt(lines[:kept])
    assert await copied(runtime, other, done.run_id) == done.run_id


async def test_a_log_that_was_altered_is_told_as_such(runtime: Runtime, other: Runtime) -> None:
    done = await runtime.run(paying)
    lines = await runtime.upkeep.export(done.run_id)

    with pytest.raises(TamperEvident):
        await other.upkeep.adopt([line.replace("paid a", "paid b") for line in lines])
