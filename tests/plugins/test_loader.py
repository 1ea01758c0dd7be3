"""Loading plugins: in a fixed order, each on its own, all of its tools or none."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from salvor.errors import PluginError
from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.loader import PluginReport, installed, load_plugins
from salvor.registry.registry import Registry
from salvor.tools.decorator import tool


def named(name: str) -> Any:
    @tool(effect="read", name=name)
    def tooled(a: int) -> None:
        """Do."""

    return tooled


def broken(conn: Registry) -> None:
    """Do."""


class Entry:
    """An entry point that needs no installation."""

    def __init__(
        self, register: Any, *, name: str = "main", dist: str = "acme", version: str = "1.0"
    ) -> None:
        self.name = name
        self.value = f"{dist}.plugin"
        self.dist = SimpleNamespace(name=dist, version=version)
        self._register = register

    def load(self) -> Any:
        if isinstance(self._register, BaseException):
            raise self._register
        if not callable(self._register):
            return self._register
        return SimpleNamespace(salvor_register_tools=hookimpl(self._register))


def adding(*names: str) -> Any:
    def salvor_register_tools(plugin: Plugin) -> None:
        for name in names:
            plugin.registry.add(named(name))

    return salvor_register_tools


def load(*entries: Entry, registry: Registry | None = None) -> tuple[PluginReport, ...]:
    return load_plugins(registry if registry is not None else Registry(), entry_points=entries)


def test_the_tools_of_a_plugin_are_added() -> None:
    registry = Registry()

    (report,) = load(Entry(adding("b", "a"), version="2.1"), registry=registry)

    assert [found.name for found in registry] == ["a", "b"]
    assert report == PluginReport(
        distribution="acme",
        version="2.1",
        entry_point="main",
        value="acme.plugin",
        status="loaded",
        error=None,
        tools=("a", "b"),
        seconds=report.seconds,
    )
    assert report.seconds >= 0


def test_a_plugin_knows_who_it_is() -> None:
    seen: list[tuple[str, str]] = []

    def salvor_register_tools(plugin: Plugin) -> None:
        seen.append((plugin.distribution, plugin.entry_point))

    load(Entry(salvor_register_tools, name="x", dist="Acme_Tools.Extra"))

    assert seen == [("acme-tools-extra", "x")]


def test_the_order_is_that_of_normalised_distribution_and_name() -> None:
    entries = [
        Entry(adding(), dist="b-dist", name="x"),
        Entry(adding(), dist="B_DIST", name="a"),
        Entry(adding(), dist="a.dist", name="z"),
    ]

    found = [(report.distribution, report.entry_point) for report in load(*entries)]

    assert found == [("a-dist", "z"), ("b-dist", "a"), ("b-dist", "x")]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ImportError("no module\nnamed x"), "ImportError: no module named x"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_stops_no_other_one(fault: BaseException, told: str) -> None:
    registry = Registry()

    reports = load(Entry(fault, dist="a"), Entry(adding("t"), dist="b"), registry=registry)

    assert [(report.status, report.error) for report in reports] == [
        ("failed", told),
        ("loaded", None),
    ]
    assert "t" in registry


def test_a_person_can_still_interrupt_the_loading() -> None:
    with pytest.raises(KeyboardInterrupt):
        load(Entry(KeyboardInterrupt()))


def test_a_plugin_that_fails_half_way_leaves_nothing_behind() -> None:
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.registry.add(named("first"))
        plugin.registry.add_function(broken, effect="read")

    registry = Registry()
    (report,) = load(Entry(salvor_register_tools), registry=registry)

    assert len(registry) == 0
    assert report.tools == ()
    assert "broken: parameter 'conn'" in str(report.error)


def test_a_conflict_names_both_origins_and_leaves_the_first() -> None:
    registry = Registry()
    registry.add(named("taken"))

    (report,) = load(Entry(adding("free", "taken")), registry=registry)

    assert [found.name for found in registry] == ["taken"]
    assert str(report.error).count(__file__) == 2


def test_two_plugins_of_one_name_do_not_shadow_each_other() -> None:
    registry = Registry()

    load(Entry(adding("a"), dist="one"), Entry(adding("b"), dist="two"), registry=registry)

    assert len(registry) == 2


def test_a_plugin_without_hooks_is_a_failure() -> None:
    (report,) = load(Entry(SimpleNamespace(salvor_register_tools=print)))

    assert report.status == "failed"
    assert "implements no hook" in str(report.error)


def test_a_hook_that_does_not_exist_is_a_failure() -> None:
    def salvor_register_tool(plugin: Plugin) -> None: ...

    (report,) = load(Entry(SimpleNamespace(salvor_register_tool=hookimpl(salvor_register_tool))))

    assert "hook that does not exist" in str(report.error)
    assert "salvor_register_tools" in str(report.error)


def test_a_hook_with_another_parameter_is_a_failure() -> None:
    def salvor_register_tools(registry: Registry) -> None: ...

    (report,) = load(Entry(salvor_register_tools))

    assert report.status == "failed"


def test_an_async_hook_is_a_failure() -> None:
    async def salvor_register_tools(plugin: Plugin) -> None: ...

    (report,) = load(Entry(salvor_register_tools))

    assert "async" in str(report.error)


def test_strict_loading_raises_for_the_first_failure() -> None:
    with pytest.raises(PluginError, match=r"the plugin acme \(main\) failed: ImportError: x"):
        load_plugins(Registry(), strict=True, entry_points=[Entry(ImportError("x"))])


def test_an_entry_point_without_a_distribution_is_loaded_too() -> None:
    entry = Entry(adding("a"))
    entry.dist = None  # type: ignore[assignment]

    (report,) = load(entry)

    assert (report.distribution, report.version, report.status) == ("unknown", "unknown", "loaded")


def distribution(
    place: Path, name: str, version: str, module: str, source: str, group: str = "salvor"
) -> None:
    (place / f"{module}.py").write_text(textwrap.dedent(source))
    info = place / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nmain = {module}\n")


SOURCE = """
    from salvor.plugins.hooks import hookimpl
    from salvor.tools.decorator import tool

    @tool(effect="read")
    def acme_find(name: str) -> str:
        "Find."
        return name

    @hookimpl
    def salvor_register_tools(plugin):
        plugin.registry.add(acme_find)
"""


def test_a_real_distribution_is_found_and_loaded(tmp_path: Path) -> None:
    distribution(tmp_path, "acme-tools", "1.2.3", "acme_plugin", SOURCE)
    script = (
        "from salvor.plugins.loader import load_plugins\n"
        "from salvor.registry.registry import Registry\n"
        "registry = Registry()\n"
        "reports = load_plugins(registry)\n"
        "found = [r for r in reports if r.distribution == 'acme-tools']\n"
        "print([(r.version, r.value, r.tools) for r in found])\n"
        "print(registry.get('acme_find').module)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )

    assert done.stdout.splitlines() == [
        "[('1.2.3', 'acme_plugin', ('acme_find',))]",
        "acme_plugin",
    ]


def test_the_first_copy_of_a_distribution_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for place, version in ((first, "1.0"), (second, "2.0")):
        place.mkdir()
        distribution(place, "acme-tools", version, "acme_plugin", SOURCE)
    distribution(second, "other", "1.0", "other", SOURCE, group="elsewhere")

    found = installed([str(first), str(second)])

    assert [(entry.name, entry.dist.version) for entry in found] == [("main", "1.0")]
