"""For the tests of tools: one call through the whole pipeline, and a context for a direct one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar, overload

import anyio

from salvor.clock import SystemIds
from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import ToolFailed
from salvor.events.vocabulary import ToolCallCompleted, ToolCallRequested
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.run_errors import RunError
from salvor.runtime.call_errors import failure
from salvor.runtime.outcome import Completed, OpenWrite, RunResult
from salvor.runtime.runtime import Runtime
from salvor.testing.clock import FakeIds
from salvor.tools.around import Call, Failure, Guard, Next, Outcome
from salvor.tools.context import Context, Report
from salvor.tools.function import FunctionTool
from salvor.values import parse_object

R = TypeVar("R")
Arguments: TypeAlias = Mapping[str, Any] | str | bytes


@overload
def call(tool: Callable[..., Awaitable[R]], arguments: Arguments | None = None) -> R: ...
@overload
def call(tool: Callable[..., R], arguments: Arguments | None = None) -> R: ...
@overload
def call(tool: FunctionTool, arguments: Arguments | None = None) -> Any: ...
def call(tool: Any, arguments: Arguments | None = None) -> Any:
    """Call a tool once, as salvor calls it, and give back its output.

    Arguments are validated and repaired, the call is written ahead, executed, retried
    without pauses, and recorded, all in memory. Neither installed plugins nor the operator's
    file have a part in it.

    Args:
        tool: A function that carries ``@tool``, or a tool of a registry.
        arguments: A JSON object, or its text, which is then parsed as strictly as any.

    Raises:
        ToolFailed: the call failed, or a run would stop here because nobody knows what the
            write did; ``extent`` says what it may have done.
        JsonRefused: the arguments are no JSON object.
        ToolDefinitionError: the function cannot be a tool.
        RunError: this thread runs an event loop; use `call_async` there.
    """
    if _in_a_loop():
        raise RunError(
            "call() starts an event loop, and this thread runs one already.",
            hint="Write `await call_async(...)`.",
        )
    return anyio.run(call_async, tool, arguments)


async def call_async(tool: Any, arguments: Arguments | None = None) -> Any:
    """Like `call`, for tests that are async themselves (on asyncio or trio)."""
    registry = Registry()
    if isinstance(tool, FunctionTool):
        (tool,) = registry.merge([tool])
    else:
        tool = registry.for_function(tool)
    return await call_within(registry, Plugins(), tool, arguments)


async def call_within(
    registry: Registry,
    plugins: Plugins,
    tool: FunctionTool,
    arguments: Arguments | None = None,
) -> Any:
    """Like `call`, with the middleware and lifespans of plugins that were loaded."""
    if isinstance(arguments, str | bytes):
        raw = parse_object(arguments, what=f"the arguments of {tool.name}")
    else:
        raw = dict(arguments or {})
    at_once = (*plugins.middleware, Guard("salvor.testing", _at_once))
    opened = open_runtime(
        "memory:",
        registry=registry,
        plugins=replace(plugins, middleware=at_once),
        config=Config(),
        ids=_NoJitter(),
    )
    async with opened as runtime:
        return await _output(runtime, tool.name, await runtime.call_tool(tool, raw))


def context(
    *,
    key: str | None = None,
    attempt: int = 1,
    epoch: int = 1,
    run_id: str | None = None,
    position: int = 1,
    deadline: datetime | None = None,
    cancelled: bool | Callable[[], bool] = False,
    report: Report | None = None,
) -> Context:
    """A context for calling a tool's function directly.

    Args:
        key: The idempotency key that the tool sees; `None` as for a read.
        attempt: Which execution this is, from 1.
        epoch: How often the run was taken over.
        run_id: The run; by default one of no store.
        position: Where the intent stands in its log.
        deadline: After which nobody waits any more.
        cancelled: Whether the caller gave up, or a function that says so.
        report: Told what the tool reports with `Context.progress`.
    """
    return Context(
        run_id=run_id or FakeIds().run_id(),
        position=position,
        attempt=attempt,
        epoch=epoch,
        idempotency_key=key,
        logger=logging.getLogger("salvor.testing"),
        deadline=deadline,
        report=report,
        is_cancelled=cancelled if callable(cancelled) else lambda: bool(cancelled),
    )


class _NoJitter(SystemIds):
    """The lower end of every back-off is no pause at all."""

    def random(self) -> int:
        return 0


async def _at_once(_call: Call, following: Next) -> Outcome:
    """Let nothing wait for a far side that asked for time."""
    outcome = await following()
    return replace(outcome, retry_after=None) if isinstance(outcome, Failure) else outcome


async def _output(runtime: Runtime, name: str, result: RunResult[Any]) -> Any:
    if isinstance(result, Completed):
        return result.output
    if isinstance(result, OpenWrite):
        raise ToolFailed(
            tool=name,
            kind="open_write",
            message=f"{result.cause}; nobody knows what it did, so a run stops here for a person",
            extent="unknown",
            attempts=1,
        )
    history = await runtime.history(result.run_id)
    raise _recorded_failure([envelope.event for envelope in history.envelopes])


def _recorded_failure(events: Sequence[object]) -> ToolFailed:
    intents = [event for event in events if isinstance(event, ToolCallRequested)]
    completions = [event for event in events if isinstance(event, ToolCallCompleted)]
    return failure(intents[-1], completions[-1])


def _in_a_loop() -> bool:
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True
