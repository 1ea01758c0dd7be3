"""From what a person types to the function they mean."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

from salvor.cli import output
from salvor.cli.options import config_asked, strict_asked
from salvor.compose import furnish
from salvor.config import find_config
from salvor.errors import TargetError
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.runtime.targets import load_module, load_target, split_target
from salvor.runtime.workflow import workflow_meta
from salvor.tools.decorator import tool_meta
from salvor.tools.function import FunctionTool


@contextmanager
def imports_aside() -> Iterator[None]:
    """Let what code prints while it is imported go to standard error, not among results."""
    with redirect_stdout(sys.stderr):
        yield


@imports_aside()
def workflow_at(target: str) -> Any:
    """The workflow that ``MODULE:NAME`` names; ``MODULE`` alone will do if it holds one.

    Raises:
        TargetError: it cannot be loaded, or the module holds several or none.
    """
    importable()
    place, name = split_target(target)
    if name is not None:
        return load_target(target)
    return getattr(load_module(place), _only(load_module(place), workflow_meta, "workflow"))


@imports_aside()
def tool_at(registry: Registry, text: str) -> tuple[FunctionTool, str | None]:
    """The tool that a registered name or a target names, and the target if it is one.

    Raises:
        UnknownToolError: no tool of that name is registered.
        TargetError: the target cannot be loaded, or its module holds several tools or none.
    """
    if not names_code(registry, text):
        return registry.get(text), None
    place, name = split_target(text)
    module = load_module(place)
    name = name if name is not None else _only(module, tool_meta, "tool")
    found = load_target(f"{place}:{name}")
    where = str(Path(place).resolve()) if place.endswith(".py") else place
    return registry.for_function(found), f"{where}:{name}"


@imports_aside()
def tools_at(registry: Registry, target: str) -> list[FunctionTool]:
    """Add the tools of a module, or one of its tools, and return them."""
    importable()
    place, name = split_target(target)
    if name is not None:
        return [registry.for_function(load_target(target))]
    return list(registry.add(load_module(place)))


@imports_aside()
def installed_tools() -> tuple[Registry, Plugins]:
    """A registry with the tools of plugins and of the operator's modules, and what came of each.

    A plugin that is broken is named and left out.

    Raises:
        ConfigError: the operator's file cannot be used.
        TargetError: a module that it names cannot be loaded.
        PluginError: with ``--strict-plugins``, for the first that is broken.
    """
    registry = Registry()
    importable()
    plugins = furnish(registry, find_config(config_asked()), strict=strict_asked())
    for failed in (report for report in plugins if report.error is not None):
        output.complain(
            f"salvor: the plugin {failed.entry_point} of {failed.distribution} {failed.version} "
            f"is left out: {failed.error}"
        )
    for warning in plugins.warnings:
        output.complain(f"salvor: {warning}")
    return registry, plugins


def is_target(text: str) -> bool:
    """Whether a text names code rather than a registered tool."""
    return ":" in text or "." in text


def names_code(registry: Registry, text: str) -> bool:
    """Whether a text is a target, or else a module and no registered tool."""
    importable()
    if is_target(text) or text in registry:
        return is_target(text)
    return text.isidentifier() and _can_be_imported(text)


def _can_be_imported(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # `__main__` is a module and has no spec
        return False


def importable() -> None:
    """Let modules of the current directory be imported, as ``python -m`` does."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _only(module: ModuleType, stamp: Callable[[Any], Any], kind: str) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if stamp(value) is not None and getattr(value, "__module__", None) == module.__name__
    ]
    if len(names) == 1:
        return names[0]
    if not names:
        raise TargetError(f"{module.__name__} holds no {kind}.", hint=f"Decorate one with @{kind}.")
    raise TargetError(
        f"{module.__name__} holds several {kind}s: {', '.join(sorted(names))}.",
        hint="Say which one with :NAME.",
    )
