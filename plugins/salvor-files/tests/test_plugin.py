"""What the plugin adds, and what it asks the operator for."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import pytest
from tests.calling import ENTRY, Files

from salvor.errors import PluginError
from salvor.plugins.loader import load_plugins
from salvor.registry.registry import Registry

EFFECTS = {
    "append_line": "write",
    "delete_file": "write",
    "list_files": "read",
    "move_file": "write",
    "read_file": "read",
    "search_files": "read",
    "write_file": "idempotent",
}


def test_every_tool_says_what_it_does_to_the_world(files: Files) -> None:
    assert {tool.name: tool.effect for tool in files.registry} == EFFECTS


def test_every_parameter_is_described(files: Files) -> None:
    bare = [
        f"{tool.name}.{name}"
        for tool in files.registry
        for name, schema in tool.input_schema["properties"].items()  # type: ignore[union-attr]
        if "description" not in schema  # type: ignore[operator]
    ]

    assert bare == []


def test_a_read_only_root_has_no_tool_that_changes_it(root: Path) -> None:
    names = [tool.name for tool in Files(root, read_only=True).registry]

    assert names == [name for name, effect in EFFECTS.items() if effect == "read"]


def test_tools_may_have_a_prefix(root: Path) -> None:
    assert "reports_read_file" in Files(root, prefix="reports_").registry


def test_without_settings_it_stays_out_and_says_what_it_needs() -> None:
    registry = Registry()
    (report,) = load_plugins(registry, entry_points=[ENTRY], environ={})

    assert (report.status, len(registry)) == ("unconfigured", 0)
    assert "root is missing" in str(report.note)


def test_the_root_comes_from_the_environment_too(root: Path) -> None:
    registry = Registry()
    environ = {"SALVOR_PLUGIN_UNKNOWN_ROOT": str(root)}
    load_plugins(registry, strict=True, entry_points=[ENTRY], environ=environ)

    assert len(registry) == len(EFFECTS)


@pytest.mark.parametrize("path", ["relative", "/nowhere/at/all"])
def test_the_root_is_an_absolute_path_that_exists(path: str) -> None:
    with pytest.raises(PluginError, match="root: Value error"):
        Files(Path(path))


def test_the_distribution_names_its_entry_point() -> None:
    (entry,) = distribution("salvor-files").entry_points.select(group="salvor")

    assert (entry.name, entry.value) == (ENTRY.name, ENTRY.value)
