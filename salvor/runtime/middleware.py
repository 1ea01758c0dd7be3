"""Middleware around one execution: below validation and the intent, above the body.

What a middleware may do is bounded by what is known. It may deny a call, and answer a read
itself; it may replace an output by another that fits, and turn it into a failure. It cannot
make a call look as if it had done less than it did, nor a write as if it had been made.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, get_args

import anyio
import anyio.lowlevel

from salvor.errors import Extent, JsonRefused, PluginError
from salvor.events.vocabulary import ToolCallRequested
from salvor.runtime.causes import causes, kept
from salvor.runtime.execution import Ended, Overrun, Value, timed_out
from salvor.runtime.parking import Asks, Parking, Sleeps
from salvor.runtime.policy import Fault, seconds, worst
from salvor.tools.around import Call, Failure, Guard, Outcome, Output, Sleep, Suspend
from salvor.tools.context import Context
from salvor.tools.function import FunctionTool
from salvor.values import MAX_OUTPUT_BYTES, JsonValue, as_json, canonical_json

Known: TypeAlias = Value | Parking | Fault
Execute: TypeAlias = Callable[[], Awaitable[Ended]]


def call_of(tool: FunctionTool, intent: ToolCallRequested, context: Context) -> Call:
    """An execution as middleware sees it: what is recorded, not what today's code makes of it."""
    return Call(
        tool=intent.tool,
        effect=intent.effect,
        arguments=intent.input if isinstance(intent.input, dict) else {},
        tags=tool.meta.tags,
        run_id=context.run_id,
        position=context.position,
        attempt=context.attempt,
        idempotency_key=intent.idempotency_key,
    )


async def within(
    guards: Sequence[Guard], call: Call, tool: FunctionTool, execute: Execute
) -> Ended:
    """Execute a body once, inside all middleware; the first one is outermost.

    Raises:
        BaseException: what the execution was stopped by, whatever middleware made of it.
    """
    body = _Body(tool, execute)
    ended = await _layer(guards, call, tool, body)
    if body.stopped is not None:
        raise body.stopped
    # A middleware that swallowed the cancellation of its own task is cancelled here.
    await anyio.lowlevel.checkpoint_if_cancelled()
    return body.overrun or ended


class _Body:
    """The innermost step, and what middleware must not be able to hide of it."""

    __slots__ = ("_execute", "_tool", "overrun", "stopped")

    def __init__(self, tool: FunctionTool, execute: Execute) -> None:
        self._tool = tool
        self._execute = execute
        self.overrun: Overrun | None = None
        self.stopped: BaseException | None = None

    async def run(self) -> Known:
        try:
            ended = await self._execute()
        except BaseException as stop:
            # A cancellation may be the middleware's own (a deadline around `next`).
            if not isinstance(stop, anyio.get_cancelled_exc_class()):
                self.stopped = stop
            raise
        if isinstance(ended, Overrun):
            self.overrun = ended
            return timed_out(self._tool, final=True)
        return ended


class _Step:
    """`next` of one middleware, and what came of it."""

    __slots__ = ("_inner", "_over", "_scope", "closed", "entered", "known")

    def __init__(self, inner: Callable[[], Awaitable[Known]]) -> None:
        self._inner = inner
        self._over = anyio.Event()
        self._scope = anyio.CancelScope()
        self.closed = False
        self.entered = False
        self.known: Known | None = None

    async def __call__(self) -> Outcome:
        if self.entered:
            raise PluginError(
                "next was awaited twice, and one intent is one execution.",
                hint="Let the runtime retry: give back a Failure with final=False.",
            )
        if self.closed:
            raise PluginError("next was awaited after the middleware had given its answer.")
        self.entered = True
        try:
            with self._scope:
                self.known = await self._inner()
        finally:
            self._over.set()
        if self.known is None:
            raise PluginError("the call was cancelled while next was awaited elsewhere.")
        return _shown(self.known)

    async def close(self) -> None:
        """Let nothing begin any more, and wait for what goes on in a task of the middleware."""
        self.closed = True
        if self.entered:
            await self._over.wait()

    async def cancel(self) -> None:
        """The call was cancelled: so is what goes on in a task of the middleware."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self.close()


async def _layer(guards: Sequence[Guard], call: Call, tool: FunctionTool, body: _Body) -> Known:
    if not guards:
        return await body.run()
    guard, rest = guards[0], guards[1:]
    step = _Step(lambda: _layer(rest, call, tool, body))
    # Each sees a copy of its own: what one of them changes, the next one must not believe.
    shown = replace(call, arguments=copy.deepcopy(call.arguments))
    try:
        returned = await _asked(guard, shown, step)
        await step.close()
    except BaseException:
        await step.cancel()
        raise
    if not step.entered:
        return _unexecuted(guard, call, tool, returned)
    if step.known is None:
        return Fault(message=f"{guard.name} cut it off: {_reason(returned)}", extent="unknown")
    return _settled(guard, call, tool, step.known, returned)


async def _asked(guard: Guard, call: Call, step: _Step) -> Outcome:
    """What a middleware gives back; whatever it raises is a failure, and final."""
    try:
        returned: Any = await guard.function(call, step)
        if isinstance(returned, Failure):
            return _readable(returned)
    except Exception as error:
        word = "failed after it" if step.entered else "denied it"
        return Failure(message=kept(f"{guard.name} {word}: {causes(error)}"))
    if isinstance(returned, Output | Suspend | Sleep):
        return returned
    what = type(returned).__name__
    return Failure(message=f"{guard.name} gave back a {what} instead of an Output or a Failure")


def _readable(failure: Failure) -> Failure:
    """What a middleware said, as a log can hold it; a word that is none says nothing."""
    return Failure(
        message=kept(str(failure.message)),
        extent=failure.extent if failure.extent in get_args(Extent) else "unknown",
        final=bool(failure.final),
        retry_after=seconds(failure.retry_after),
    )


def _unexecuted(guard: Guard, call: Call, tool: FunctionTool, returned: Outcome) -> Known:
    if isinstance(returned, Failure):
        return replace(_fault(returned), kind="denied")
    if call.effect == "read" and isinstance(returned, Output):
        return _checked(guard, tool, returned.value, extent_of_refusal="no")
    return Fault(
        message=f"{guard.name} answered in place of the tool, which only a read allows",
        extent="no",
        kind="denied",
        final=True,
    )


def _settled(
    guard: Guard, call: Call, tool: FunctionTool, known: Known, returned: Outcome
) -> Known:
    """What an execution and what a middleware says of it come to."""
    if not isinstance(known, Fault):
        if isinstance(returned, Failure):
            return replace(_fault(returned), extent="yes", final=True)
        if isinstance(known, Value) and isinstance(returned, Output):
            return _checked(guard, tool, returned.value, extent_of_refusal="yes")
        return known  # a park is the tool's alone: none is put off, and none made up
    if not isinstance(returned, Failure):
        if call.effect == "read" and isinstance(returned, Output):
            return _checked(guard, tool, returned.value, extent_of_refusal=known.extent)
        return known
    said = _fault(returned)
    return replace(
        known,
        message=said.message,
        extent=worst(known.extent, said.extent),
        final=known.final or said.final,
        retry_after=said.retry_after,
    )


def _checked(
    guard: Guard, tool: FunctionTool, value: JsonValue, *, extent_of_refusal: Extent
) -> Known:
    """An output of a middleware has to fit the tool's type as the tool's own does."""
    try:
        if len(canonical_json(as_json(value)).encode()) > MAX_OUTPUT_BYTES:
            raise JsonRefused(f"it is larger than {MAX_OUTPUT_BYTES} bytes")
        tool.decode_output(value)
        return Value(value)
    except Exception as error:  # a value's own code may raise anything
        return Fault(
            message=kept(f"{guard.name} gave back an output that does not fit: {causes(error)}"),
            extent=extent_of_refusal,
            kind="output_serialization",
            final=True,
        )


def _fault(failure: Failure) -> Fault:
    return Fault(
        message=failure.message,
        extent=failure.extent,
        final=failure.final,
        retry_after=failure.retry_after,
    )


def _shown(known: Known) -> Outcome:
    if isinstance(known, Value):
        return Output(copy.deepcopy(known.output))
    if isinstance(known, Asks):
        schema = copy.deepcopy(known.schema)
        return Suspend(reason=known.reason, schema=schema, signal=known.signal)
    if isinstance(known, Sleeps):
        return Sleep(known.wake_at)
    return Failure(
        message=known.message,
        extent=known.extent,
        final=known.final,
        retry_after=known.retry_after,
    )


def _reason(returned: Outcome) -> str:
    return returned.message if isinstance(returned, Failure) else "it did not wait for the body"
