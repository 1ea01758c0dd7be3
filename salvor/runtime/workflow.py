"""Workflows: async functions that drive a run."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from salvor.errors import WorkflowDefinitionError
from salvor.runtime.run import Run
from salvor.runtime.targets import target_of
from salvor.tools.function import FunctionTool
from salvor.tools.schema import ValueType
from salvor.tools.signature import InputModel, read_parameters
from salvor.values import JsonObject, JsonValue, content_hash

P = ParamSpec("P")
R = TypeVar("R")
_STAMP = "__salvor_workflow__"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowMeta:
    """What `workflow` stamps on a function."""

    name: str
    version: str


@overload
def workflow(
    fn: Callable[Concatenate[Run, P], Awaitable[R]], /
) -> Callable[Concatenate[Run, P], Awaitable[R]]: ...


@overload
def workflow(
    *, name: str | None = None, version: str = "1"
) -> Callable[
    [Callable[Concatenate[Run, P], Awaitable[R]]], Callable[Concatenate[Run, P], Awaitable[R]]
]: ...


def workflow(fn: Any = None, /, *, name: str | None = None, version: str = "1") -> Any:
    """Declare an async function, whose first parameter is the `Run`, a workflow.

    The function is returned untouched. Name and version make up its identity: a log
    written by another identity is not replayed.

    Args:
        fn: The function, when the decorator is used without parentheses.
        name: Its name; by default the function's.
        version: To be raised when its steps change in a way that old logs do not fit.
    """
    if fn is None:
        return lambda found: workflow_stamp(found, name, version)
    return workflow_stamp(fn, name, version)


def workflow_stamp(fn: Any, name: str | None, version: str) -> Any:
    """Check and stamp one function."""
    if not inspect.iscoroutinefunction(fn):
        raise WorkflowDefinitionError(
            f"{_called(fn)} is not an async function, so it cannot be a workflow.",
            hint="Write `@workflow` above an `async def name(run: Run, ...)`.",
        )
    if not version or not isinstance(version, str):
        raise WorkflowDefinitionError(f"{_called(fn)}: version has to be text, got {version!r}.")
    parameters = list(inspect.signature(fn).parameters.values())
    if not parameters or parameters[0].kind is parameters[0].KEYWORD_ONLY:
        raise WorkflowDefinitionError(
            f"{_called(fn)} takes no run.", hint="Its first parameter has to be `run: Run`."
        )
    setattr(fn, _STAMP, WorkflowMeta(name=name or fn.__name__, version=version))
    return fn


def workflow_meta(fn: Any) -> WorkflowMeta | None:
    """The stamp of a workflow, ``None`` for anything else."""
    meta = getattr(fn, _STAMP, None)
    return meta if isinstance(meta, WorkflowMeta) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A workflow made ready to be driven.

    ``body`` drives a run with the values that ``prepare`` made of the recorded input;
    ``output`` turns what it returns into JSON and back.
    """

    name: str
    version: str
    target: str
    prepare: Callable[[JsonObject], tuple[JsonObject, Callable[[Run], Awaitable[Any]]]]
    encode: Callable[[Any], JsonValue]
    decode: Callable[[JsonValue], Any]

    @property
    def title(self) -> str:
        """Name and version, for messages."""
        return f"{self.name} version {self.version}"

    @property
    def hash(self) -> str:
        """The identity that a log's head carries (DURABILITY C6)."""
        return content_hash({"workflow": self.name, "version": self.version})


def define(fn: Any) -> Definition:
    """Make a decorated function ready.

    Raises:
        WorkflowDefinitionError: it is not decorated.
        ToolDefinitionError: a parameter or the return type cannot be described.
    """
    meta = workflow_meta(fn)
    if meta is None:
        raise WorkflowDefinitionError(
            f"{_called(fn)} is not a workflow.", hint="Decorate it with `@workflow`."
        )
    model = read_parameters(fn, skip_first=True, owner=meta.name)
    output = ValueType.of_return(fn)
    return Definition(
        name=meta.name,
        version=meta.version,
        target=target_of(fn),
        prepare=lambda raw: _prepare(fn, model, meta.name, raw),
        encode=output.encode,
        decode=output.decode,
    )


def single_call(tool: FunctionTool, target: str) -> Definition:
    """The workflow of a run that is one call of one tool."""

    def prepare(raw: JsonObject) -> tuple[JsonObject, Callable[[Run], Awaitable[Any]]]:
        return raw, lambda run: run.call_named(tool.name, raw)

    return Definition(
        name=f"{SINGLE}{tool.name}",
        version="1",
        target=target,
        prepare=prepare,
        encode=tool.encode_output,
        decode=tool.decode_output,
    )


SINGLE = "tool:"


def _prepare(
    fn: Any, model: InputModel, name: str, raw: JsonObject
) -> tuple[JsonObject, Callable[[Run], Awaitable[Any]]]:
    prepared = model.prepare(raw, tool=name)

    def body(run: Run) -> Awaitable[Any]:
        args, kwargs = model.arguments(prepared.values)
        called: Awaitable[Any] = fn(run, *args, **kwargs)
        return called

    return prepared.arguments, body


def bind(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JsonObject:
    """The input of a workflow called with Python values."""
    meta = workflow_meta(fn)
    owner = meta.name if meta else _called(fn)
    return read_parameters(fn, skip_first=True, owner=owner).bind(args, kwargs)


def _called(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or repr(fn)
