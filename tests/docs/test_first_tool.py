"""The tutorial page on the first tool does what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples.snippets.first_tool.desk import find_claims
from tests.docs.console import Console

SNIPPETS = Path(__file__).parents[2] / "examples/snippets/first_tool"
SESSIONS = ("schema", "call", "close", "check")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    for name in ("desk.py", "test_desk.py"):
        shutil.copy(SNIPPETS / name, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_sessions_of_the_page_come_out_as_shown(desk: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SALVOR")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    console = Console(desk, environment)

    for session in SESSIONS:
        console.follow(SNIPPETS / f"{session}.console")


def test_the_tests_of_the_page_pass(desk: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=desk,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_the_function_stays_a_plain_function() -> None:
    assert [claim.id for claim in find_claims("hail", limit=1)] == ["C-1"]
