from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHILD = Path(__file__).parent / "touching.py"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What was seen of each thing; a hook cannot be taken away, so in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(CHILD), str(tmp_path_factory.mktemp("touched"))],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, list[Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("thing", "did"),
    [
        ("writes_a_new_file", "opened for writing"),
        ("writes_over_a_file", "opened for writing"),
        ("opens_to_append_and_adds_nothing", "opened for writing"),
        ("replaces_a_file_by_a_temporary_one", "renamed"),
        ("removes", "removed"),
        ("removes_relative_to_a_directory", "removed"),
        ("creates_relative_to_a_directory", "opened for writing"),
        ("makes_a_directory", "made the directory"),
        ("links", "linked"),
        ("truncates", "truncated"),
        ("changes_the_mode", "changed the mode of"),
        ("touches", "changed the times of"),
        ("fills_a_database", "opened the database"),
        ("leaves_rows_in_the_log_of_a_database", "opened the database"),
    ],
)
def test_what_is_left_changed_is_a_write(told: dict[str, list[Any]], thing: str, did: str) -> None:
    assert did in [one[1] for one in told[thing] if one[3]]


@pytest.mark.parametrize(
    "thing",
    [
        "fails_to_open",
        "uses_temporary_files",
        "makes_a_directory_that_is_there",
        "removes_a_tree",
        "asks_a_database",
    ],
)
def test_what_leaves_nothing_changed_is_told_and_no_write(
    told: dict[str, list[Any]], thing: str
) -> None:
    assert told[thing]
    assert [one for one in told[thing] if one[3]] == []


@pytest.mark.parametrize("thing", ["reads", "writes_to_nowhere", "keeps_rows_in_memory"])
def test_what_touches_nothing_is_not_told(told: dict[str, list[Any]], thing: str) -> None:
    assert told[thing] == []


def test_connections_and_processes_are_told_by_name(told: dict[str, list[Any]]) -> None:
    assert told["connects"] == [["socket", "connected to", "127.0.0.1:9", False]]
    assert told["starts_a_process"] == [["process", "started", f"{sys.executable} -c ", False]]


def test_a_rename_is_told_with_both_names(told: dict[str, list[Any]]) -> None:
    [renamed] = [one[2] for one in told["replaces_a_file_by_a_temporary_one"] if one[3]]
    source, target = renamed.split(" -> ")

    assert (Path(source).name, Path(target).name) == ("swap", "old")
