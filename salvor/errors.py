"""The whole error tree.

    SalvorError
        JsonRefused            what was given is not the JSON it has to be
        ToolDefinitionError    a function cannot be a tool as declared
        WorkflowDefinitionError
        DuplicateToolError     two tools under one name
        UnknownToolError
        ArgumentsRefused       arguments do not fit a tool; lists all problems
        OutputRefused          a result does not fit a tool
        NotInjected            a Context or Depends marker was touched outside a call
        ToolFailure            raised by tool authors: what the failure may have done
        ToolFailed             the one error a call raises to its caller
        WorkflowFailed         raised by workflow authors: a final answer
        ConcurrentUseError     two primitives of one run at a time
        RunError               a run cannot be driven, answered or resolved: `salvor.run_errors`
        LogError, StoreError   a log or a store cannot be used: `salvor.store_errors`
        ExportRefused          a tool cannot be said in a provider's form
        ConfigError            the operator's file cannot be used; lists all faults
        PluginError
        TargetError            a MODULE:NAME that cannot be loaded

Every error has a class-level ``code`` (stable, for machines), keeps what it knows as
attributes, and may carry a ``hint``: one sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Extent = Literal["no", "yes", "unknown"]


class SalvorError(Exception):
    """Root of every error salvor raises on purpose."""

    code: ClassVar[str] = "error"

    # Also where a subclass forgot to call this one's __init__.
    message: str = ""
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        end = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{end} {self.hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault in a JSON document.

    ``pointer`` is a JSON Pointer (RFC 6901; ``""`` is the document itself), ``expected``
    what should stand there and ``got`` what does.
    """

    pointer: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: expected {self.expected}, got {self.got}"


def listed(problems: Sequence[Problem]) -> str:
    """All problems in one line."""
    return "; ".join(str(problem) for problem in problems)


class JsonRefused(SalvorError):
    """A text or a Python value is not the strict JSON it has to be."""

    code = "not_json"


class ToolDefinitionError(SalvorError):
    """A function cannot be a tool as it is declared.

    ``where`` is ``file:line function``; ``parameter`` is set when one parameter is at fault.
    """

    code = "tool_definition"

    def __init__(
        self,
        reason: str,
        *,
        where: str | None = None,
        parameter: str | None = None,
        hint: str | None = None,
    ) -> None:
        at = f"{where}: " if where else ""
        of = f"parameter {parameter!r}: " if parameter else ""
        super().__init__(f"{at}{of}{reason}", hint=hint)
        self.reason = reason
        self.where = where
        self.parameter = parameter


class WorkflowDefinitionError(SalvorError):
    """A function cannot be a workflow as it is declared."""

    code = "workflow_definition"


class DuplicateToolError(SalvorError):
    """A second tool under a name that is taken; the first one stays."""

    code = "duplicate_tool"

    def __init__(self, *, name: str, first: str, second: str, hint: str | None = None) -> None:
        super().__init__(
            f"two tools are called {name!r}: {first} and {second}.",
            hint=hint or "Give one of them another name= or add it with a prefix=.",
        )
        self.name = name
        self.first = first
        self.second = second


class UnknownToolError(SalvorError):
    """No tool of that name is registered."""

    code = "unknown_tool"

    def __init__(self, *, name: str, nearest: Sequence[str] = (), hint: str | None = None) -> None:
        near = f"Did you mean {' or '.join(map(repr, nearest))}?" if nearest else None
        super().__init__(f"there is no tool called {name!r}.", hint=hint or near)
        self.name = name
        self.nearest = tuple(nearest)


class ExportRefused(SalvorError):
    """A tool cannot be said in a provider's form without changing what it means.

    ``form`` is ``mcp``, ``anthropic``, ``openai`` or ``openai-strict``; ``problems`` holds
    every place that the form cannot express.
    """

    code = "export_refused"

    def __init__(
        self, *, tool: str, form: str, problems: Sequence[Problem], hint: str | None = None
    ) -> None:
        super().__init__(
            f"{tool} cannot be exported in the form {form}: {listed(problems)}.", hint=hint
        )
        self.tool = tool
        self.form = form
        self.problems = tuple(problems)


class ConfigError(SalvorError):
    """The operator's file cannot be used; every fault is one sentence that names its place."""

    code = "config"

    def __init__(self, *, source: str, faults: Sequence[str], hint: str | None = None) -> None:
        super().__init__(f"{source}: {' '.join(faults)}", hint=hint)
        self.source = source
        self.faults = tuple(faults)


class ArgumentsRefused(SalvorError):
    """The arguments of a call do not fit the tool; nothing was executed."""

    code = "invalid_arguments"

    def __init__(self, *, tool: str, problems: Sequence[Problem], hint: str | None = None) -> None:
        super().__init__(f"{tool} refused its arguments: {listed(problems)}", hint=hint)
        self.tool = tool
        self.problems = tuple(problems)


class OutputRefused(SalvorError):
    """What a tool returned is not what it declares to return; its body did run."""

    code = "invalid_output"

    def __init__(self, *, tool: str, problems: Sequence[Problem]) -> None:
        super().__init__(f"{tool} returned what it does not declare: {listed(problems)}")
        self.tool = tool
        self.problems = tuple(problems)


class NotInjected(SalvorError):
    """A value that salvor delivers was touched outside a call."""

    code = "not_injected"


class ToolFailure(SalvorError):
    """Raised by a tool's author to say that a call failed and what it may have done.

    Args:
        message: What went wrong, for the caller.
        happened: ``False``: certainly nothing happened. ``True``: it happened, but there is
            no good answer. ``None``: nobody knows (DURABILITY A2).
        final: Trying again would fail in the same way.
        retry_after: Seconds to wait before the next attempt, honoured up to 60.
    """

    code = "tool_failure"

    happened: bool | None = None
    final: bool = False
    retry_after: float | None = None

    def __init__(
        self,
        message: str,
        *,
        happened: bool | None = None,
        final: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(str(message))
        self.happened = happened
        self.final = final
        self.retry_after = retry_after

    @property
    def extent(self) -> Extent:
        """What the failed call may have done."""
        return "unknown" if self.happened is None else "yes" if self.happened else "no"


class ToolFailed(SalvorError):
    """A call ended in a recorded failure; the same live and on replay.

    ``kind`` is ``invalid_input``, ``unknown_tool``, ``denied``, ``claim``, ``handler``,
    ``timeout`` or ``output_serialization``; ``extent`` says what the call may have done;
    ``attempts`` counts the executions.
    """

    code = "tool_failed"

    def __init__(
        self, *, tool: str, kind: str, message: str, extent: Extent, attempts: int = 0
    ) -> None:
        super().__init__(f"{tool}: {message}")
        self.tool = tool
        self.kind = kind
        self.reason = message
        self.extent: Extent = extent
        self.attempts = attempts


class WorkflowFailed(SalvorError):
    """Raised inside a workflow to end the run as failed, for good."""

    code = "workflow_failed"


class ConcurrentUseError(SalvorError):
    """A run was asked for a second step while one was still going on (DURABILITY C2)."""

    code = "concurrent_use"


class PluginError(SalvorError):
    """A plugin could not be loaded, or misbehaved."""

    code = "plugin"


class TargetError(SalvorError):
    """A target (``MODULE:NAME`` or ``file.py:NAME``) cannot be loaded."""

    code = "target"


class RunStopped(BaseException):
    """Unwinds a workflow whose run has come to rest.

    A ``BaseException``: code that catches ``Exception`` cannot go on past a park, an open
    write or a lost lease. What stopped the run is read from the run, never from this.
    """
