"""salvor: tools that touch the world, written ahead and safe to resume after a crash.

Every public name is here and is loaded when it is first used, so ``import salvor`` and
``from salvor import tool`` stay cheap. Nothing inside the package imports this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from salvor.compose import open_runtime as open_runtime
    from salvor.compose import run as run
    from salvor.errors import SalvorError as SalvorError
    from salvor.errors import ToolFailed as ToolFailed
    from salvor.errors import ToolFailure as ToolFailure
    from salvor.errors import WorkflowFailed as WorkflowFailed
    from salvor.plugins.hooks import hookimpl as hookimpl
    from salvor.registry.registry import Registry as Registry
    from salvor.run_errors import SessionStopped as SessionStopped
    from salvor.run_errors import SignalRefused as SignalRefused
    from salvor.runtime.caller import spec as spec
    from salvor.runtime.outcome import Abandoned as Abandoned
    from salvor.runtime.outcome import Completed as Completed
    from salvor.runtime.outcome import Failed as Failed
    from salvor.runtime.outcome import OpenWrite as OpenWrite
    from salvor.runtime.outcome import Parked as Parked
    from salvor.runtime.outcome import RunResult as RunResult
    from salvor.runtime.run import Run as Run
    from salvor.runtime.runtime import Runtime as Runtime
    from salvor.runtime.workflow import workflow as workflow
    from salvor.tools.context import INJECTED as INJECTED
    from salvor.tools.context import Context as Context
    from salvor.tools.context import Depends as Depends
    from salvor.tools.contract import Retry as Retry
    from salvor.tools.decorator import tool as tool
    from salvor.tools.parking import Slept as Slept
    from salvor.tools.parking import sleep_until as sleep_until
    from salvor.tools.parking import suspend as suspend
    from salvor.version import __version__ as __version__

_HOMES = {
    "__version__": "salvor.version",
    "Abandoned": "salvor.runtime.outcome",
    "Completed": "salvor.runtime.outcome",
    "Context": "salvor.tools.context",
    "Depends": "salvor.tools.context",
    "Failed": "salvor.runtime.outcome",
    "hookimpl": "salvor.plugins.hooks",
    "INJECTED": "salvor.tools.context",
    "open_runtime": "salvor.compose",
    "OpenWrite": "salvor.runtime.outcome",
    "Parked": "salvor.runtime.outcome",
    "Registry": "salvor.registry.registry",
    "Retry": "salvor.tools.contract",
    "run": "salvor.compose",
    "Run": "salvor.runtime.run",
    "RunResult": "salvor.runtime.outcome",
    "Runtime": "salvor.runtime.runtime",
    "SalvorError": "salvor.errors",
    "SessionStopped": "salvor.run_errors",
    "SignalRefused": "salvor.run_errors",
    "sleep_until": "salvor.tools.parking",
    "Slept": "salvor.tools.parking",
    "spec": "salvor.runtime.caller",
    "suspend": "salvor.tools.parking",
    "tool": "salvor.tools.decorator",
    "ToolFailed": "salvor.errors",
    "ToolFailure": "salvor.errors",
    "workflow": "salvor.runtime.workflow",
    "WorkflowFailed": "salvor.errors",
}

__all__ = [
    "INJECTED",
    "Abandoned",
    "Completed",
    "Context",
    "Depends",
    "Failed",
    "OpenWrite",
    "Parked",
    "Registry",
    "Retry",
    "Run",
    "RunResult",
    "Runtime",
    "SalvorError",
    "SessionStopped",
    "SignalRefused",
    "Slept",
    "ToolFailed",
    "ToolFailure",
    "WorkflowFailed",
    "__version__",
    "hookimpl",
    "open_runtime",
    "run",
    "sleep_until",
    "spec",
    "suspend",
    "tool",
    "workflow",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'salvor' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
