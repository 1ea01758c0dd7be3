"""The installed package, through the operator's file and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def salvor(directory: Path, *words: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("SALVOR_")}
    done = subprocess.run(
        [sys.executable, "-m", "salvor", *words],
        cwd=directory,
        env={**env, "SALVOR_PLUGINS": "salvor-files"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_operators_file_says_where_the_files_are(tmp_path: Path, root: Path) -> None:
    (tmp_path / "salvor.toml").write_text(f"[plugins.salvor-files]\nroot = {json.dumps(str(root))}")
    given = json.dumps({"path": "a.txt", "text": "hello"})

    printed = salvor(tmp_path, "tools", "call", "write_file", "--input", given)

    assert json.loads(printed.split("\n", 1)[1]) == {"path": "a.txt", "size": 5}
    assert (root / "a.txt").read_text() == "hello"


def test_without_it_the_command_works_and_the_doctor_tells(tmp_path: Path) -> None:
    assert salvor(tmp_path, "tools", "list") == "There are no tools there.\n"
    assert "is idle: it has no settings: root is missing" in salvor(tmp_path, "doctor")
