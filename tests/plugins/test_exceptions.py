"""What plugins say of the exceptions of libraries."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from salvor.errors import PluginError
from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.tools.foreign import Verdict
from tests.plugins.distributions import good, salvor, unpack, wheel
from tests.plugins.test_loader import Entry, named

ROOT = Path(__file__).parents[2]


def saying(table: Any, *tools: str) -> Any:
    def salvor_register_tools(plugin: Plugin) -> None:
        for name in tools:
            plugin.registry.add(named(name))

    def salvor_exceptions(plugin: Plugin) -> Any:
        return table

    return SimpleNamespace(
        salvor_register_tools=hookimpl(salvor_register_tools),
        salvor_exceptions=hookimpl(salvor_exceptions),
    )


def load(*tables: Any, strict: bool = False) -> tuple[Plugins, Registry]:
    registry = Registry()
    entries = [Entry(saying(table, f"t{n}"), dist=f"p{n}") for n, table in enumerate(tables)]
    return load_plugins(registry, entry_points=entries, environ={}, strict=strict), registry


def test_what_plugins_say_is_collected() -> None:
    refused, lost = Verdict("no", final=True), Verdict("unknown")
    plugins, _ = load({"acme.Refused": refused}, None, {"other.Lost": lost})

    assert plugins.exceptions == {"acme.Refused": refused, "other.Lost": lost}
    assert [report.hooks for report in plugins] == [
        ("salvor_exceptions", "salvor_register_tools")
    ] * 3


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (["acme.Refused"], "which is not a mapping"),
        ({"Refused": Verdict("no")}, "names 'Refused': a name has to be a top-level package"),
        ({"builtins.OSError": Verdict("no")}, "an exception of Python itself says nothing"),
        ({"httpx.ConnectError": Verdict("no")}, "it is in the table already"),
        ({"acme.Refused": "no"}, "says 'no' of acme.Refused"),
        ({"acme.Refused": Verdict("perhaps")}, "of acme.Refused. Say Verdict('no')"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_meant_leaves_the_plugin_out_as_a_whole(table: Any, told: str) -> None:
    plugins, registry = load(table)

    [report] = plugins
    assert report.status == "failed"
    assert told in str(report.error)
    assert plugins.exceptions == {}
    assert list(registry) == []


def test_two_plugins_that_differ_on_an_exception_conflict() -> None:
    plugins, registry = load({"acme.Refused": Verdict("no")}, {"acme.Refused": Verdict("yes")})

    assert [report.status for report in plugins] == ["loaded", "failed"]
    assert "acme.Refused, and the plugin p0:main says no" in str(list(plugins)[1].error)
    assert plugins.exceptions == {"acme.Refused": Verdict("no")}
    assert [tool.name for tool in registry] == ["t0"]


def test_two_plugins_that_agree_on_an_exception_do_not() -> None:
    plugins, _ = load(*[{"acme.Refused": Verdict("no")}] * 2, strict=True)

    assert [report.status for report in plugins] == ["loaded", "loaded"]


def test_strict_loading_raises_for_it() -> None:
    with pytest.raises(PluginError, match=r"p0 \(main\) 1\.0 failed: salvor_exceptions gave 5"):
        load(5, strict=True)


BANK = """
    import salvor
    from salvor.tools.foreign import Verdict

    class Closed(Exception):
        pass

    @salvor.tool(effect="write")
    def pay(cents: int) -> None:
        "Pay."
        raise Closed("the account is closed")

    @salvor.hookimpl
    def salvor_register_tools(plugin):
        plugin.registry.add(pay)

    @salvor.hookimpl
    def salvor_exceptions(plugin):
        return {"acme_bank_plugin.Closed": Verdict("no", final=True)}
"""


def test_an_installed_plugin_says_it_for_every_call(tmp_path: Path) -> None:
    unpack(tmp_path / "site", wheel(tmp_path, "acme-bank", "1.0", BANK))
    unpack(tmp_path / "site", wheel(tmp_path, "acme-desk", "1.0", good("find")))
    called = salvor(
        [ROOT, tmp_path / "site"], "tools", "call", "pay", "--input", '{"cents":1}', cwd=tmp_path
    )
    listed = salvor([ROOT, tmp_path / "site"], "list", cwd=tmp_path)

    assert called.returncode == 1
    assert "the account is closed" in called.stdout + called.stderr
    assert " failed " in listed.stdout
