"""The public list: what `salvor` offers, loaded when it is first used."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import salvor

PUBLIC = [
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


def test_the_public_names_are_these() -> None:
    assert salvor.__all__ == PUBLIC
    assert dir(salvor) == sorted(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_the_object_of_its_home(name: str) -> None:
    home = importlib.import_module(salvor._HOMES[name])

    assert getattr(salvor, name) is getattr(home, name)


def test_type_checkers_see_the_same_homes_as_the_interpreter() -> None:
    tree = ast.parse(Path(salvor.__file__).read_text())
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }

    assert typed == salvor._HOMES


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = salvor.nothing
