"""Executing an open call until it ends: attempts, back-off, fresh intents, completion."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import anyio

from salvor.errors import Extent
from salvor.events.claims import ClaimChange, ClaimId, MoveClaim
from salvor.events.vocabulary import (
    Attempt,
    ToolCallCompleted,
    ToolCallRequested,
    failure_output,
)
from salvor.runtime.claiming import settling
from salvor.runtime.completions import Completions, Unrecorded
from salvor.runtime.execution import (
    Ended,
    Execution,
    GaveUp,
    LeaseLapsed,
    Overrun,
    Value,
    outcome_of,
    timed_out,
)
from salvor.runtime.host import Host, Progress
from salvor.runtime.middleware import call_of, within
from salvor.runtime.outcome import OpenWrite, Parked, parked_at
from salvor.runtime.overtime import Finish
from salvor.runtime.parking import Asks, Parking, Sleeps, parked
from salvor.runtime.policy import Again, Fault, Open, decide, worst
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.store_errors import Fenced, StoreBusy, StoreError
from salvor.tools.context import Context, Report
from salvor.tools.contract import Retry
from salvor.tools.function import FunctionTool
from salvor.values import format_instant, parse_instant

_log = logging.getLogger("salvor.call")

_LEASE_TRIES = 3
_PARKED_IN_GATHER = "it asked to park its run, which a call inside gather() cannot"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call whose intent is recorded and whose completion is not.

    ``before`` is the worst extent of the executions that came before this drive,
    ``failed`` what was tried since, under this intent; ``approved`` says that a person had to;
    ``executed_by`` is the digest of the tool, where it is another than the intent's (B5).
    """

    tool: FunctionTool
    values: Mapping[str, Any]
    intent: ToolCallRequested
    claim: ClaimId | None
    before: Extent = "no"
    failed: tuple[Attempt, ...] = ()
    approved: bool = False
    executed_by: str | None = None


class AskAgain(Exception):
    """A write that did not happen has to be begun anew.

    Its approval is used up (DURABILITY B2), or a cancel came, which is heeded there (D5).
    """

    def __init__(self, intent: ToolCallRequested) -> None:
        super().__init__(intent.tool)
        self.intent = intent


class Attempts:
    """Executes open calls of one run.

    Args:
        host: The process's parts.
        recorder: The run's log.
        run_id: The run.
        gathered: For a read among others: it cannot park, and somebody else records it.
    """

    def __init__(
        self, host: Host, recorder: Recorder, run_id: str, *, gathered: bool = False
    ) -> None:
        self._host = host
        self._recorder = recorder
        self._run_id = run_id
        self._gathered = gathered
        self._completions = (Unrecorded if gathered else Completions)(host, recorder, run_id)
        self._execution = Execution(
            host.threads, host.shared, self._stands, self._abandoned, host.foreign
        )
        self._call: OpenCall | None = None
        self._left_behind = False

    async def run(self, call: OpenCall) -> tuple[ToolCallRequested, ToolCallCompleted]:
        """Execute until there is a completion, and record it.

        Returns:
            The intent that was executed last, and its completion.

        Raises:
            AskAgain: a write is to be tried again, if it is approved and not cancelled.
            Halt: the write's outcome is unknown, the run was taken over, or the process was
                asked to stop while an attempt was due.
        """
        for executions in itertools.count(1):
            started = self._host.clock.now()
            ended = await self._execute(call, executions)
            if isinstance(ended, Value):
                return call.intent, await self._complete(call, _output(call, ended), None)
            if isinstance(ended, Asks | Sleeps):
                if not self._gathered:
                    raise Halt(Rest(await self._park(call, ended)))
                ended = Fault(message=_PARKED_IN_GATHER, extent="yes", final=True)
            if isinstance(ended, Overrun):
                ended = self._overran(call, ended, executions)
            call = replace(call, failed=(*call.failed, _attempt(started, ended)))
            decision = decide(
                call.intent.effect,
                ended,
                before=call.before,
                executions=executions,
                retry=call.tool.meta.retry or Retry(),
                jitter=self._host.ids.random() / 2**64,
            )
            if isinstance(decision, Open):
                await self._keep_returned(call, ended)
                raise Halt(Rest(open_write(self._run_id, call.intent, ended.message)))
            if not isinstance(decision, Again):
                failure = _failure(call, ended, decision.extent, executions)
                return call.intent, await self._complete(call, failure, decision.extent)
            await anyio.sleep(decision.delay)
            call = await self._next_attempt(call, ended, executions)
        raise AssertionError("attempts end by returning")

    def _overran(self, call: OpenCall, overrun: Overrun, executions: int) -> Fault:
        """The time limit passed over a body that cannot be stopped (A6): no second copy."""
        fault = timed_out(call.tool, final=True)
        if call.intent.effect != "write":
            self._outlive(call, lambda: self._keep_value(call, overrun))
            return fault
        self._outlive(call, lambda: self._finish(call, overrun, executions))
        cause = f"{fault.message}; its body is still running in process {os.getpid()}"
        raise Halt(Rest(open_write(self._run_id, call.intent, cause)))

    def _abandoned(self, overrun: Overrun) -> None:
        """The call was cancelled, its body goes on: a crash, but what it did is kept (A7, E7)."""
        call = self._call
        self._left_behind = True
        if call is not None and self._host.background.is_open:
            self._outlive(call, lambda: self._keep_value(call, overrun))

    def _outlive(self, call: OpenCall, finish: Finish) -> None:
        # A write's run is not let go while its body may still act (F1 refuses "not done").
        fence = self._recorder.fence if call.intent.effect == "write" else None
        self._host.overtime.keep(
            finish, run_id=self._run_id, seq=call.intent.seq, claim=call.claim, fence=fence
        )

    async def _finish(self, call: OpenCall, overrun: Overrun, executions: int) -> None:
        """Record what a write's body came to after all, if it is certain."""
        ended = await outcome_of(call.tool, overrun, self._host.foreign)
        try:
            if isinstance(ended, Value):
                await self._complete(call, _output(call, ended), None, alone=True)
            elif isinstance(ended, Asks | Sleeps):
                await self._park(call, ended)
            elif ended.extent != "unknown" or ended.answer:
                failure = _failure(call, ended, ended.extent, executions)
                await self._complete(call, failure, ended.extent, alone=True)
            else:
                await self._keep_returned(call, ended)
        except Halt:
            return  # the run was taken over; what the body came to is kept as late

    async def _park(self, call: OpenCall, parking: Parking) -> Parked:
        """Record the park with the completion; the claim stays held until it is over (E3)."""
        completion, park = parked(parking, call.intent, call.failed or None)
        due = _due(parking, self._host.clock.now())
        await self._completions.record(call.intent, completion, park, claims=(), due=due)
        return parked_at(self._run_id, completion.seq + 2, park)

    async def _keep_value(self, call: OpenCall, overrun: Overrun) -> None:
        ended = await outcome_of(call.tool, overrun, self._host.foreign)
        await self._completions.keep(call.intent, ended)

    async def _keep_returned(self, call: OpenCall, fault: Fault) -> None:
        if fault.returned is not None:
            await self._completions.keep_late(call.intent, "output", fault.returned, None)

    async def _complete(
        self,
        call: OpenCall,
        completion: ToolCallCompleted,
        extent: Extent | None,
        *,
        alone: bool = False,
    ) -> ToolCallCompleted:
        """Record how a call ended; ``alone``: nobody drives its run any more, so it is due."""
        due = self._host.clock.now() if alone else None
        return await self._completions.complete(
            call.claim, call.intent, completion, extent, due=due
        )

    async def _execute(self, call: OpenCall, executions: int) -> Ended:
        self._call, self._left_behind = call, False
        for _ in range(_LEASE_TRIES):
            try:
                ended = await self._once(call, executions)
                if self._left_behind and isinstance(ended, Fault):
                    # A middleware cut off a body that cannot be stopped: no second copy (A6).
                    return replace(ended, final=True)
                return ended
            except LeaseLapsed:
                # The machine slept or was stalled: nobody else need have taken the run.
                await self._host.keeper.renew_now()
        raise await self._lapsed(call)

    async def _lapsed(self, call: OpenCall) -> Halt:
        """The lease could not be renewed; the body certainly was not run."""
        try:
            await self._host.store.confirm(self._recorder.fence)
        except Fenced as error:
            await self._completions.keep_late(call.intent, "not_executed", "null", "no")
            return Halt(Broken(error))
        except StoreError as error:
            return Halt(Broken(error))
        if call.intent.effect == "write":
            consumed = _not_executed(call, "its lease ran out before it was started", 0)
            claims = settling(call.claim, consumed, self._run_id, "no")
            await self._completions.record(call.intent, consumed, claims=claims)
        return Halt(
            Broken(
                StoreBusy(
                    f"the lease of run {self._run_id} could not be renewed in time.",
                    hint=f"`salvor resume {self._run_id}` goes on.",
                )
            )
        )

    def _once(self, call: OpenCall, executions: int) -> Awaitable[Ended]:
        gave_up = GaveUp()
        context = self._context(call, executions, gave_up)
        if not self._host.guards:
            return self._execution.once(call.tool, call.values, context, gave_up)
        return within(
            self._host.guards,
            call_of(call.tool, call.intent, context),
            call.tool,
            lambda: self._execution.once(call.tool, call.values, context, gave_up),
        )

    def _stands(self) -> bool:
        return self._host.keeper.stands(self._recorder.fence)

    def _context(self, call: OpenCall, executions: int, gave_up: GaveUp) -> Context:
        limit = call.tool.meta.timeout
        return Context(
            run_id=self._run_id,
            position=call.intent.seq,
            attempt=executions,
            epoch=self._recorder.fence.epoch,
            idempotency_key=call.intent.idempotency_key,
            logger=_log,
            deadline=None if limit is None else self._host.clock.now() + timedelta(seconds=limit),
            report=None if self._host.progress is None else self._report(call),
            is_cancelled=gave_up,
        )

    def _report(self, call: OpenCall) -> Report:
        tell = self._host.progress
        assert tell is not None

        def report(done: float, total: float | None, message: str | None) -> None:
            tell(
                Progress(
                    run_id=self._run_id,
                    position=call.intent.seq,
                    tool=call.intent.tool,
                    done=done,
                    total=total,
                    message=message,
                )
            )

        return report

    async def _next_attempt(self, call: OpenCall, fault: Fault, executions: int) -> OpenCall:
        """After the back-off; a write goes on under a fresh intent (B3)."""
        if call.intent.effect != "write":
            self._host.check_interrupt(self._run_id)
            before = worst(call.before, fault.extent)
            return replace(call, before=before, values=_values(call))
        consumed = _not_executed(call, fault.message, executions)
        if not self._host.interrupted.is_set() and not call.approved:
            fresh = replace(call.intent, seq=consumed.seq + 2)
            moved = self._moved(call, fresh)
            if await self._completions.record(
                call.intent, consumed, fresh, claims=moved, heeds_cancel=True
            ):
                return replace(call, intent=fresh, failed=(), values=_values(call))
        given_back = settling(call.claim, consumed, self._run_id, "no")
        await self._completions.record(call.intent, consumed, claims=given_back)
        self._host.check_interrupt(self._run_id)
        raise AskAgain(call.intent)

    def _moved(self, call: OpenCall, fresh: ToolCallRequested) -> tuple[ClaimChange, ...]:
        if call.claim is None:
            return ()
        return (
            MoveClaim(
                id=call.claim,
                run_id=self._run_id,
                intent_seq=call.intent.seq,
                fresh_seq=fresh.seq,
            ),
        )


def _due(parking: Parking, now: datetime) -> datetime | None:
    """When somebody has to look at a run that a tool parked."""
    if isinstance(parking, Sleeps):
        return parse_instant(parking.wake_at)
    # The signal may have come while the body ran, when there was nothing to wake (D3).
    return None if parking.signal is None else now


def _not_executed(call: OpenCall, message: str, executions: int) -> ToolCallCompleted:
    return ToolCallCompleted(
        seq=call.intent.seq,
        output=failure_output(kind="not_executed", message=message, attempts=executions),
        outcome="not_executed",
        extent="no",
        attempts=call.failed or None,
    )


def _values(call: OpenCall) -> Mapping[str, Any]:
    # Made anew for each attempt: the one before may have changed a list it was given.
    assert isinstance(call.intent.input, dict)
    return call.tool.prepare(call.intent.input).values


def _output(call: OpenCall, value: Value) -> ToolCallCompleted:
    return ToolCallCompleted(
        seq=call.intent.seq,
        output=value.output,
        attempts=call.failed or None,
        tool_digest=call.executed_by,
    )


def _attempt(started: datetime, fault: Fault) -> Attempt:
    return Attempt(started=format_instant(started), cause=fault.message, extent=fault.extent)


def _failure(call: OpenCall, fault: Fault, extent: Extent, executions: int) -> ToolCallCompleted:
    return ToolCallCompleted(
        seq=call.intent.seq,
        output=failure_output(kind=fault.kind, message=fault.message, attempts=executions),
        outcome="error",
        extent=extent,
        attempts=call.failed,
    )


def open_write(run_id: str, intent: ToolCallRequested, cause: str) -> OpenWrite:
    """The rest of a run whose write is open."""
    return OpenWrite(
        run_id=run_id,
        seq=intent.seq,
        tool=intent.tool,
        arguments=intent.input if isinstance(intent.input, dict) else {},
        idempotency_key=intent.idempotency_key,
        cause=cause,
    )
