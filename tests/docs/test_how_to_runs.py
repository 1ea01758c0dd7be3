"""The how-to pages on open writes and approvals do what they say."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.console import Console

SNIPPETS = Path(__file__).parents[2] / "examples/snippets"
PAGES = {
    "reconcile": ("lost", "happened", "never", "verify", "nobody", "claims", "abandon"),
    "approvals": ("small", "ask", "see", "yes", "no"),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_sessions_of_the_page_come_out_as_shown(page: str, tmp_path: Path) -> None:
    for file in (SNIPPETS / page).iterdir():
        if file.suffix in (".py", ".toml"):
            shutil.copy(file, tmp_path)
    beside = str(Path(sys.executable).parent)
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SALVOR")},
        "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
    }
    console = Console(tmp_path, environment)

    for session in PAGES[page]:
        console.follow(SNIPPETS / page / f"{session}.console")
