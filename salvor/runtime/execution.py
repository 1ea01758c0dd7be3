"""One execution of a tool's body: dependencies, the body, clean-up, output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from salvor.errors import OutputRefused, SalvorError, ToolFailure
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.policy import Fault
from salvor.tools.context import Context, activate
from salvor.tools.function import FunctionTool
from salvor.tools.injection import Dependency
from salvor.values import JsonValue

Phase = Literal["opening", "body", "closing"]


class LeaseLapsed(BaseException):
    """The lease was found lost just before the body: it was not run."""


@dataclass(frozen=True, slots=True)
class Value:
    """The body returned; its output as checked JSON."""

    output: JsonValue


class _Progress:
    """How far an execution came: what an exception may have done depends on it."""

    __slots__ = ("phase",)

    def __init__(self) -> None:
        self.phase: Phase = "opening"


async def execute(
    tool: FunctionTool,
    values: Mapping[str, Any],
    context: Context,
    *,
    threads: BodyThreads,
    stands: Callable[[], bool],
) -> Value | Fault:
    """Execute a body once.

    Args:
        tool: Whose body.
        values: Validated values by parameter, without defaults.
        context: What the body may ask about its call.
        threads: Where synchronous code runs.
        stands: Asked last before the body, in the thread that runs it (DURABILITY B1).

    Raises:
        LeaseLapsed: ``stands`` said no; the body was not run.
    """
    progress = _Progress()
    try:
        with activate(context):
            result = await _within_dependencies(tool, values, context, threads, stands, progress)
    except Exception as error:
        return fault_of(tool, error, progress.phase)
    try:
        return Value(tool.encode_output(result))
    except OutputRefused as error:
        return Fault(message=error.message, extent="yes", kind="output_serialization", final=True)


async def _within_dependencies(
    tool: FunctionTool,
    values: Mapping[str, Any],
    context: Context,
    threads: BodyThreads,
    stands: Callable[[], bool],
    progress: _Progress,
) -> Any:
    if not tool.dependencies:
        args, kwargs = tool.arguments(values, context, {})
        progress.phase = "body"
        return await _body(tool, args, kwargs, threads, stands)
    async with AsyncExitStack() as stack:
        resolved = {
            name: await _open(stack, depends, threads)
            for name, depends in tool.dependencies.items()
        }
        args, kwargs = tool.arguments(values, context, resolved)
        progress.phase = "body"
        result = await _body(tool, args, kwargs, threads, stands)
        progress.phase = "closing"
    return result


async def _body(
    tool: FunctionTool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    threads: BodyThreads,
    stands: Callable[[], bool],
) -> Any:
    def guarded() -> Any:
        if not stands():
            raise LeaseLapsed
        return tool.fn(*args, **kwargs)

    if tool.is_async:
        return await guarded()
    result = await threads.run(guarded)
    return await result if inspect.isawaitable(result) else result


async def _open(stack: AsyncExitStack, depends: Dependency, threads: BodyThreads) -> Any:
    """Open one dependency: a function, or a generator with clean-up, of either colour."""
    provider = depends.dependency
    if inspect.isasyncgenfunction(provider):
        return await stack.enter_async_context(asynccontextmanager(provider)())
    if inspect.isgeneratorfunction(provider):
        manager = contextmanager(provider)()
        value = await threads.run(manager.__enter__)

        async def leave(*error: Any) -> bool | None:
            return await threads.run(lambda: manager.__exit__(*error))

        stack.push_async_exit(leave)
        return value
    if inspect.iscoroutinefunction(provider):
        return await provider()
    return await threads.run(provider)


def fault_of(tool: FunctionTool, error: Exception, phase: Phase) -> Fault:
    """What a failed execution may have done (DURABILITY A2, as far as declared)."""
    if isinstance(error, ToolFailure) and phase == "body":
        return Fault(
            message=storable(error.message),
            extent=error.extent,
            final=error.final,
            retry_after=error.retry_after,
        )
    message = causes(error)
    if phase == "opening":
        return Fault(message=f"a dependency could not be opened: {message}", extent="no")
    if phase == "closing":
        return Fault(message=f"clean-up after the body failed: {message}", extent="unknown")
    if isinstance(error, tool.meta.refusals):
        return Fault(message=message, extent="no", final=True)
    answer = tool.meta.exceptions == "failed"
    return Fault(message=message, extent="unknown", answer=answer)


def causes(error: BaseException) -> str:
    """An exception and what caused it, each said once: ``ValueError: x: OSError: y``."""
    said: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        text = _said(current)
        if not said or text not in said[-1]:
            said.append(text)
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return storable(": ".join(said))


def storable(text: str) -> str:
    """A message as a log can carry it: half a surrogate pair is escaped."""
    return text.encode(errors="backslashreplace").decode()


def _said(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = ""
    if isinstance(error, SalvorError):
        return text
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name
