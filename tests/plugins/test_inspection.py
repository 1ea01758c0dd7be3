"""What `salvor doctor` looks at, one thing at a time."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from salvor.plugins.discovery import Copy, Found, copies, installed
from salvor.plugins.inspection import (
    about_distributions,
    about_plugins,
    about_salvor,
    about_store,
)
from salvor.plugins.loader import PluginReport, Plugins


def copy(name: str, version: str = "1.0", place: str = "/a", *requires: str) -> Copy:
    source: Any = SimpleNamespace(requires=list(requires))
    return Copy(name=name, version=version, location=place, source=source)


def plugin(name: str) -> Found:
    entry: Any = SimpleNamespace(name="main", value="x", dist=None)
    return Found(entry=entry, distribution=name, version="1.0", location="/a")


def report(status: Any, **known: Any) -> PluginReport:
    return PluginReport(
        distribution="acme", version="1.0", entry_point="main", value="x", status=status, **known
    )


def test_salvor_that_is_not_installed_is_a_warning() -> None:
    (finding,) = about_salvor([copy("other")])

    assert (finding.level, "not installed" in finding.message) == ("warning", True)


def test_requirements_of_plugins_and_of_salvor_have_to_be_met() -> None:
    there = [
        copy("salvor-py", "1.0", "/a", "click>=9", "gone", "extra; extra == 'test'"),
        copy("acme", "2.0", "/a", "click<9", "salvor-py>=1.0"),
        copy("click", "8.1"),
        copy("bystander", "1.0", "/a", "gone"),
    ]

    found = about_distributions(there, [plugin("acme")])

    assert [(one.subject, one.message) for one in found] == [
        ("salvor-py", "1.0 requires click>=9, and 8.1 is installed."),
        ("salvor-py", "1.0 requires gone, which is not installed."),
    ]


def test_a_prerelease_meets_what_it_comes_before_or_after() -> None:
    there = [copy("acme", "1.0", "/a", "click>=9"), copy("click", "9.1rc1")]

    assert about_distributions(there, [plugin("acme")]) == []


def test_a_second_copy_of_a_plugin_is_a_warning_and_of_another_package_nothing() -> None:
    there = [
        copy("acme", "1.0"),
        copy("other"),
        copy("acme", "2.0", "/b"),
        copy("other", "2", "/b"),
    ]

    (found,) = about_distributions(there, [plugin("acme")])

    assert found.message.startswith("it is installed twice: 1.0 in /a stands before 2.0 in /b")


@pytest.mark.parametrize(
    ("given", "level", "said"),
    [
        (report("loaded", tools=("a",)), "ok", "loaded, tools: 1"),
        (report("loaded", seconds=1.5), "warning", "took 1.5 s"),
        (report("failed", error="OSError: x"), "error", "failed: OSError: x"),
        (report("blocked", note="it is on the block list"), "ok", "on the block list"),
        (report("unconfigured", note="root is missing"), "warning", "idle: root is missing"),
        (report("shadowed", note="y"), "warning", "shadowed: y"),
    ],
)
def test_every_plugin_is_one_finding(given: PluginReport, level: str, said: str) -> None:
    (finding,) = about_plugins(Plugins(reports=(given,)))

    assert finding.level == level
    assert said in finding.message


def test_warnings_of_the_lists_are_findings() -> None:
    (finding,) = about_plugins(Plugins(warnings=("the block list names 'x'.",)))

    assert finding.level == "warning"


def test_a_store_that_can_be_made_is_in_order_and_is_not_made(tmp_path: Path) -> None:
    assert about_store(str(tmp_path / "runs.db")).level == "ok"
    assert about_store(f"sqlite:///{tmp_path}/runs.db").level == "ok"
    assert about_store("memory:").level == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    missing = about_store(str(tmp_path / "none" / "runs.db"))
    directory = about_store(str(tmp_path))

    assert (missing.level, directory.level) == ("error", "error")
    assert "there is no directory" in missing.message
    assert "that is a directory" in directory.message


def test_a_store_that_this_user_cannot_write_is_an_error(tmp_path: Path) -> None:
    def refuses(path: Any, mode: int) -> bool:
        return Path(path) != tmp_path / "locked" and not (
            Path(path) == tmp_path / "runs.db" and mode & os.W_OK
        )

    (tmp_path / "runs.db").touch()
    (tmp_path / "locked").mkdir()

    file = about_store(str(tmp_path / "runs.db"), allowed=refuses)
    directory = about_store(str(tmp_path / "locked" / "runs.db"), allowed=refuses)

    assert (file.level, directory.level) == ("error", "error")
    assert "cannot be read and written" in file.message
    assert "cannot be written" in directory.message


def test_a_url_is_shown_without_its_password() -> None:
    assert "s3cret" not in about_store("postgresql://me:s3cret@db/salvor?password=s3cret").message


def tree(place: Path, name: str, version: str, entry: str) -> None:
    info = place / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(entry)


def test_a_directory_that_is_on_the_path_twice_counts_once(tmp_path: Path) -> None:
    tree(tmp_path, "acme", "1.0", "[salvor]\nmain = acme\n")

    assert len(copies([str(tmp_path), f"{tmp_path}/."])) == 1


def test_the_first_copy_wins_and_the_other_is_marked(tmp_path: Path) -> None:
    tree(tmp_path / "a", "acme", "1.0", "[salvor]\nmain = acme\n")
    tree(tmp_path / "b", "Acme", "2.0", "[salvor]\nmain = acme\nmore = acme.more\n")
    tree(tmp_path / "b", "other", "1.0", "[elsewhere]\nmain = other\n")

    found = installed([str(tmp_path / "a"), str(tmp_path / "b")])

    assert [(one.id, one.version, one.shadowed is None) for one in found] == [
        ("acme:main", "1.0", True),
        ("acme:main", "2.0", False),
        ("acme:more", "2.0", False),
    ]


def test_a_distribution_without_metadata_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty-1.0.dist-info").mkdir()
    tree(tmp_path, "acme", "1.0", "[salvor]\nmain = acme\n")

    assert [one.id for one in installed([str(tmp_path)])] == ["acme:main"]
