"""The tools that `salvor tools check` is asked about, the faulty ones included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from salvor.cli.load import importable, installed_tools, is_target, names_code
from salvor.compose import furnish
from salvor.config import find_config
from salvor.errors import SalvorError, TargetError, UnknownToolError
from salvor.plugins.loader import Plugins
from salvor.registry.collecting import functions_of, original_name
from salvor.registry.registry import Registry
from salvor.runtime.targets import load_module, load_target, split_target
from salvor.tools.function import FunctionTool, function_tool

Installed = Callable[[], tuple[Registry, Plugins]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a target names.

    Attributes:
        registry: The tools it names, and beside an installed one all that are installed.
        plugins: What came of loading them, where an installed tool is named.
        tools: The tools that it names and that can be built.
        faults: The others, by name, and what is wrong with them.
    """

    registry: Registry
    plugins: Plugins
    tools: tuple[FunctionTool, ...]
    faults: tuple[tuple[str, SalvorError], ...]

    def tool(self, name: str) -> FunctionTool:
        """One of the tools.

        Raises:
            UnknownToolError: it is none of them.
        """
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise UnknownToolError(name=name, nearest=[tool.name for tool in self.tools])


def asked_for(target: str, installed: Installed = installed_tools) -> Asked:
    """Build every tool that a target names; one that cannot be built hides no other.

    Raises:
        UnknownToolError: no tool of that name is installed.
        TargetError: the target cannot be loaded, or its module holds no tool.
    """
    importable()
    # The tools of a file or a module are looked at by themselves: its author has no operator.
    registry, plugins = (Registry(), Plugins()) if is_target(target) else installed()
    if names_code(registry, target):
        return _built(target, _functions(target))
    return Asked(registry=registry, plugins=plugins, tools=(registry.get(target),), faults=())


def quietly_installed() -> tuple[Registry, Plugins]:
    """Like `installed_tools`, where another process has said already what is left out."""
    registry = Registry()
    return registry, furnish(registry, find_config(None))


def _functions(target: str) -> list[Any]:
    place, name = split_target(target)
    if name is not None:
        return [load_target(target)]
    found = functions_of(load_module(place))
    if not found:
        raise TargetError(f"{place} holds no tool.", hint="Decorate a function with @tool.")
    return found


def _built(target: str, functions: list[Any]) -> Asked:
    registry = Registry()
    tools: list[FunctionTool] = []
    faults: list[tuple[str, SalvorError]] = []
    for function in functions:
        name = original_name(function) or target
        try:
            tools += registry.merge([function_tool(function)])
        except SalvorError as error:
            faults.append((name, error))
    return Asked(registry=registry, plugins=Plugins(), tools=tuple(tools), faults=tuple(faults))
