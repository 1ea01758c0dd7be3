"""The pages on testing: their tests pass, and fail where the pages say so."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from salvor.testing import pytest_plugin
from salvor.testing.matrix import CrashMatrix
from salvor.testing.store_checks import CHECKS

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "examples/snippets/testing"
REFERENCE = (ROOT / "docs/reference/testing.md").read_text()
PORT = "from salvor.stores.memory import MemoryStore as MyStore\n"


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    for name in ("desk.py", "test_desk.py", "settle.jsonl"):
        shutil.copy(SNIPPETS / name, tmp_path)
    return tmp_path


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_tests_of_the_pages_pass(desk: Path) -> None:
    done = pytest_in(desk)

    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


@pytest.mark.slow
def test_a_key_that_is_not_handed_on_is_told_as_the_page_shows(desk: Path) -> None:
    path = desk / "desk.py"
    path.write_text(path.read_text().replace(", key=ctx.idempotency_key", ""))
    done = pytest_in(desk, "-k", "pay_claim")

    assert done.returncode == 1
    assert (SNIPPETS / "lies.txt").read_text() in done.stdout


def test_a_workflow_that_changed_does_not_replay_the_runs_of_the_page(desk: Path) -> None:
    path = desk / "desk.py"
    path.write_text(path.read_text().replace("Pay {claim_id}?", "May {claim_id} be paid?"))
    done = pytest_in(desk, "-k", "last_month")

    assert done.returncode == 1
    assert "diverges at event 1 (reason)" in done.stdout


def test_a_store_is_proved_as_the_page_says(tmp_path: Path) -> None:
    shutil.copy(SNIPPETS / "test_store.py", tmp_path)
    (tmp_path / "my_store.py").write_text(PORT)
    done = pytest_in(tmp_path)

    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS)} passed" in done.stdout


def test_every_fixture_and_marker_of_the_plugin_is_described() -> None:
    fixtures = {
        name
        for name, value in vars(pytest_plugin).items()
        if type(value).__name__ == "FixtureFunctionDefinition"
    }
    rows = set(re.findall(r"^\| `(\w+)[`(]", REFERENCE, re.MULTILINE))

    assert len(fixtures) == 7
    assert {*fixtures, pytest_plugin.CLAUSES} <= rows


def test_every_argument_of_the_matrix_is_described() -> None:
    arguments = set(inspect.signature(CrashMatrix.__call__).parameters) - {"self"}
    rows = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, re.MULTILINE))

    assert arguments <= rows
