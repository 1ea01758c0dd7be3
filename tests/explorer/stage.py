"""What the worlds are made of: a store, drivers, tools that act, and a ledger as oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from salvor.clock import Clock
from salvor.errors import SalvorError
from salvor.events.records import Driver
from salvor.events.vocabulary import (
    RunStarted,
    ToolCallRequested,
    WorkflowRef,
)
from salvor.registry.registry import Registry
from salvor.runtime.outcome import OpenWrite, Parked, RunResult
from salvor.runtime.recorder import Recorder
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import define, workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.approval import ApprovalRule
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from tests.explorer.explorer import Actor, Gate, Played, Stepped, play

MakeStore = Callable[[Clock], MemoryStore]
NOON = datetime(2026, 7, 9, 12, tzinfo=UTC)
SOON = NOON + timedelta(seconds=10)
PASSES = "time: time passes"
ONCE = Retry(attempts=1, backoff=0)


class Stage:
    """One world: a store, drivers on it, a clock, and a ledger of what happened outside."""

    def __init__(self, make_store: MakeStore) -> None:
        self.clock = FakeClock(NOON)
        self.gate = Gate()
        self.store = make_store(self.clock)
        self.ledger: list[str] = []
        self.said_not_done = False
        self._made: list[Runtime] = []
        STAGE.clear()
        STAGE.append(self)

    def runtime(self, *rules: ApprovalRule) -> Runtime:
        """Another driver."""
        runtime = Runtime(
            store=Stepped(self.store, self.gate),
            registry=Registry(),
            clock=self.clock,
            ids=FakeIds(len(self._made)),
            lease=30.0,
            claim_wait=0.0,
            approvals=rules,
        )
        self._made.append(runtime)
        return runtime

    def time(self, seconds: float) -> Actor:
        """An actor that lets time pass: what may expire meanwhile does."""

        async def passes() -> None:
            await self.gate("time passes")
            self.clock.move(seconds)

        return passes

    async def play(self, schedule: Sequence[str], **actors: Actor) -> Played:
        """Race the actors; what they are refused is part of the game."""
        wrapped = {name: _refusable(actor) for name, actor in actors.items()}
        try:
            return await play(wrapped, self.gate, schedule)
        finally:
            for runtime in self._made:
                runtime._host.keeper.stop()

    async def to_the_end(self, run_id: str, flow: Any, answer: Any = None) -> RunResult[Any]:
        """Go on with a run as its operator would, who knows the ledger, until it ends."""
        last = self.runtime()
        await last._host.background.open()
        try:
            for _ in range(12):
                self.clock.move(31)
                result = await last.resume(run_id, flow)
                if isinstance(result, OpenWrite):
                    await self._resolve(last, result)
                elif isinstance(result, Parked) and result.waiting_for is None and answer:
                    with suppress(SalvorError):
                        await last.answer(run_id, answer, workflow=flow)
                elif not isinstance(result, Parked):
                    return result
            raise AssertionError(f"run {run_id} does not come to an end: {result}")
        finally:
            await last._host.background.close()
            last._host.keeper.stop()

    async def left_open(self) -> str:
        """A run whose process died inside an idempotent call."""
        run_id = FakeIds(99).run_id()
        driver = Driver(id="dead", pid=1, host="gone")
        fence, head = await self.store.take_over(run_id, driver, lease=1.0, create=True)
        recorder = Recorder(self.store, self.clock, fence=fence, head=head, last=None)
        definition = define(putting)
        ref = WorkflowRef(name=definition.name, version="1", target=definition.target)
        await recorder.append(
            RunStarted(agent_def_hash=definition.hash, input={}, workflow=ref),
            ToolCallRequested(
                seq=1,
                tool="put",
                input={"what": "row"},
                effect="idempotent",
                idempotency_key="k",
            ),
        )
        self.clock.move(2)
        return run_id

    async def _resolve(self, runtime: Runtime, opened: OpenWrite) -> None:
        happened = any(entry.endswith(str(opened.arguments.get("what"))) for entry in self.ledger)
        await runtime.resolve(
            opened.run_id, ResolvedOutput("done") if happened else NotDone(worker_dead=True)
        )

    async def log(self, run_id: str) -> list[Any]:
        """The events of a run."""
        last = self.runtime()
        return [envelope.event for envelope in (await last.history(run_id)).envelopes]

    async def verified(self) -> None:
        """Chains hold, and the claims are what the logs say (E2)."""
        found = await self.runtime().upkeep.verify()
        assert found.faults == (), found.faults


STAGE: list[Stage] = []


def _refusable(actor: Actor) -> Actor:
    async def act() -> None:
        with suppress(SalvorError):
            await actor()

    return act


async def _act(what: str) -> None:
    stage = STAGE[-1]
    await stage.gate(f"before {what}")
    stage.ledger.append(what)
    await stage.gate(f"after {what}")


@tool(effect="write", retry=ONCE)
async def write(what: str) -> str:
    """Write."""
    await _act(what)
    return "done"


@tool(effect="write", retry=ONCE, idempotency_key="what")
async def keyed(what: str) -> str:
    """Write under a key."""
    await _act(what)
    return "done"


@tool(effect="idempotent", retry=ONCE)
async def put(ctx: Context, what: str) -> str:
    """Put."""
    await _act(f"{what} {ctx.idempotency_key}")
    return "done"


@tool(effect="write", retry=ONCE, idempotency_key="what")
async def asks(what: str) -> str:
    """Act, then ask."""
    await _act(what)
    return suspend("which?", str)


@tool(effect="read", retry=ONCE)
async def banking() -> str:
    """Wait for the bank."""
    await _act("bank")
    return suspend("bank", str, signal=True)


@workflow
async def writing(run: Run) -> str:
    return await run.call(write, what="letter")


@workflow
async def putting(run: Run) -> str:
    return await run.call(put, what="row")


@workflow
async def keying(run: Run) -> str:
    return await run.call(keyed, what="payment")


@workflow
async def asking(run: Run) -> str:
    return await run.call(asks, what="seat")


@workflow
async def waiting(run: Run) -> int:
    return await run.signal("go", int)


@workflow
async def deciding(run: Run) -> str:
    return await run.suspend("which?", str, deadline=SOON, default="neither")


@workflow
async def approving(run: Run) -> str:
    return await run.call(write, what="letter")
