"""salvor: tools that touch the world, written ahead and safe to resume after a crash.

Every public name is here and is loaded when it is first used, so ``import salvor`` and
``from salvor import tool`` stay cheap. Nothing inside the package imports this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from salvor.compose import open_runtime as open_runtime
    from salvor.errors import SalvorError as SalvorError
    from salvor.errors import ToolFailed as ToolFailed
    from salvor.errors import ToolFailure as ToolFailure
    from salvor.errors import WorkflowFailed as WorkflowFailed
    from salvor.plugins.hooks import hookimpl as hookimpl
    from salvor.registry.registry import Registry as Registry
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
    from salvor.version import __version__ as __version__

_HOMES = {
    "INJECTED": "salvor.tools.context",
    "Completed": "salvor.runtime.outcome",
    "Context": "salvor.tools.context",
    "Depends": "salvor.tools.context",
    "Failed": "salvor.runtime.outcome",
    "OpenWrite": "salvor.runtime.outcome",
    "Parked": "salvor.runtime.outcome",
    "Registry": "salvor.registry.registry",
    "Retry": "salvor.tools.contract",
    "Run": "salvor.runtime.run",
    "RunResult": "salvor.runtime.outcome",
    "Runtime": "salvor.runtime.runtime",
    "SalvorError": "salvor.errors",
    "ToolFailed": "salvor.errors",
    "ToolFailure": "salvor.errors",
    "WorkflowFailed": "salvor.errors",
    "__version__": "salvor.version",
    "hookimpl": "salvor.plugins.hooks",
    "open_runtime": "salvor.compose",
    "tool": "salvor.tools.decorator",
    "workflow": "salvor.runtime.workflow",
}

__all__ = [
    "INJECTED",
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
    "ToolFailed",
    "ToolFailure",
    "WorkflowFailed",
    "__version__",
    "hookimpl",
    "open_runtime",
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
