"""Running the command in this process, as its entry point does."""

from __future__ import annotations

from pathlib import Path

import pytest

from salvor.cli.main import main
from tests.cli.command import Ended, Salvor


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def salvor(store: Path, capsys: pytest.CaptureFixture[str]) -> Salvor:
    """The command, on a store of the test's own."""

    def run(*words: str) -> Ended:
        code = main(["--store", str(store), *words])
        printed = capsys.readouterr()
        return Ended(code=code, out=printed.out, err=printed.err)

    return run


@pytest.fixture
def flows() -> str:
    """The file that holds the workflows and tools the tests name."""
    return str(Path(__file__).parent / "flows.py")
