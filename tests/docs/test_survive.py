"""The tutorial page on a run that survives anything does what it says."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.console import Console

SNIPPETS = Path(__file__).parents[2] / "examples/snippets/survive"
SESSIONS = ("begin", "answer", "approve", "signal", "finish", "history")


@pytest.mark.slow
def test_the_sessions_of_the_page_come_out_as_shown(tmp_path: Path) -> None:
    shutil.copy(SNIPPETS / "trip.py", tmp_path)
    beside = str(Path(sys.executable).parent)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SALVOR")},
        "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
    }
    console = Console(tmp_path, environment)

    for session in SESSIONS:
        console.follow(SNIPPETS / f"{session}.console")
