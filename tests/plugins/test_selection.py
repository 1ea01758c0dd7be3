"""Allow and block lists: of the operator's file, of the environment, and both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from salvor.errors import PluginError
from salvor.plugins.discovery import Found
from salvor.plugins.loader import list_plugins, load_plugins
from salvor.plugins.selection import Selection, selection
from salvor.registry.registry import Registry


class Entry:
    """An entry point that must not be imported."""

    def __init__(self, dist: str, name: str) -> None:
        self.name = name
        self.value = "never.imported"
        self.dist = SimpleNamespace(name=dist, version="1.0")

    def load(self) -> Any:
        raise AssertionError("it was imported")


def found(dist: str, name: str = "main") -> Found:
    return Found(entry=Entry(dist, name), distribution=dist, version="1.0", location="here")


ALL = (found("acme-tools", "fs"), found("other", "main"))


def loading(chosen: Selection) -> list[str]:
    return [one.distribution for one in ALL if chosen.refusal(one) is None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ["acme-tools", "other"]),
        ("", []),
        (" , ", []),
        ("other", ["other"]),
        ("Acme_Tools", ["acme-tools"]),
        ("fs", ["acme-tools"]),
        ("acme-tools:fs", ["acme-tools"]),
        ("acme.tools:fs, other", ["acme-tools", "other"]),
        ("-other", ["acme-tools"]),
        ("-fs", ["other"]),
        ("other,-other", []),
    ],
)
def test_the_environment_chooses(text: str | None, expected: list[str]) -> None:
    environ = {} if text is None else {"SALVOR_PLUGINS": text}

    assert loading(selection(None, (), environ)) == expected


def test_the_allow_list_of_the_file_holds_where_the_environment_only_blocks() -> None:
    assert loading(selection(["other"], (), {"SALVOR_PLUGINS": "-fs"})) == ["other"]


def test_the_allow_list_of_the_environment_takes_the_place_of_the_files() -> None:
    assert loading(selection(["other"], (), {"SALVOR_PLUGINS": "fs"})) == ["acme-tools"]


def test_what_the_file_blocks_the_environment_cannot_allow() -> None:
    assert loading(selection(None, ["fs"], {"SALVOR_PLUGINS": "fs"})) == []


def test_an_allowed_name_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"names 'othr', which.*Did you mean 'other'\?"):
        load_plugins(Registry(), entry_points=[Entry("other", "x")], allow=["othr"], environ={})


def test_a_blocked_name_that_is_not_installed_is_a_warning() -> None:
    plugins = list_plugins(entry_points=[Entry("other", "x")], block=["othr"], environ={})

    assert plugins.warnings == (
        "the block list names 'othr', which is not installed. Did you mean 'other'?",
    )
    assert [report.status for report in plugins] == ["found"]


def test_what_is_blocked_is_not_imported() -> None:
    entries = [Entry("other", "x"), Entry("acme", "y")]

    plugins = load_plugins(
        Registry(), entry_points=entries, allow=["other"], block=["x"], environ={}
    )

    assert [(report.status, report.error, report.note) for report in plugins] == [
        ("blocked", None, "it is not on the allow list"),
        ("blocked", None, "it is on the block list"),
    ]
