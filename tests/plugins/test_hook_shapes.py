"""Hooks of odd shapes: those that can work do, the others are told what they lack."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.loader import PluginReport, load_plugins
from salvor.registry.registry import Registry
from tests.plugins.test_loader import Entry, named


def loaded(plugin: Any) -> tuple[PluginReport, list[str]]:
    registry = Registry()
    (report,) = load_plugins(registry, entry_points=[Entry(plugin)], environ={})
    return report, [found.name for found in registry]


def hooked(function: Any) -> Any:
    return SimpleNamespace(salvor_register_tools=function)


@hookimpl
def with_default(plugin: Any = None) -> None:
    plugin.registry.add(named("a"))


@hookimpl(wrapper=True)
def wrapping(plugin: Plugin) -> Iterator[None]:
    plugin.registry.add(named("a"))
    return (yield)


@hookimpl(specname="salvor_register_tools")
def of_another_name(plugin: Plugin) -> None:
    plugin.registry.add(named("a"))


class Static:
    @staticmethod
    @hookimpl
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.registry.add(named("a"))


class OfClass:
    @classmethod
    @hookimpl
    def salvor_register_tools(cls, plugin: Plugin) -> None:
        plugin.registry.add(named("a"))


class Guarded:
    """What else it has cannot even be looked at."""

    @property
    def settings(self) -> None:
        raise RuntimeError("not yet")

    @hookimpl
    def salvor_register_tools(self, plugin: Plugin) -> None:
        plugin.registry.add(named("a"))


WORKING = [
    *(hooked(with_default), hooked(wrapping), SimpleNamespace(mine=of_another_name)),
    *(Static(), OfClass(), Guarded()),
]


@pytest.mark.parametrize("plugin", WORKING, ids=range(len(WORKING)))
def test_a_hook_may_be_written_in_many_ways(plugin: Any) -> None:
    report, tools = loaded(plugin)

    assert (report.status, report.error, tools) == ("loaded", None, ["a"])


@hookimpl
def without_parameter() -> None: ...


@hookimpl
def with_stars(*args: Any) -> None: ...


@hookimpl
def giving_tools(plugin: Plugin) -> list[Any]:
    return [named("a")]


@hookimpl
def giving_one_by_one(plugin: Plugin) -> Iterator[Any]:
    plugin.registry.add(named("a"))
    yield named("b")


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (without_parameter, "takes no parameter plugin"),
        (with_stars, "takes no parameter plugin"),
        (giving_tools, "gave back a list, and nobody takes it"),
        (giving_one_by_one, "gave back a generator, and nobody takes it"),
    ],
)
def test_a_hook_that_would_add_nothing_without_a_word_is_a_failure(
    function: Any, told: str
) -> None:
    report, tools = loaded(hooked(function))

    assert (report.status, tools) == ("failed", [])
    assert told in str(report.error)
