"""Running the command in this process, as its entry point does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from salvor.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How one command line ended."""

    code: int
    out: str
    err: str

    @property
    def run_id(self) -> str:
        """The id that `run` and `tools call` print first."""
        word, run_id = self.out.splitlines()[0].split(" ")
        assert word == "run"
        return run_id

    @property
    def body(self) -> str:
        """What comes after that line."""
        return self.out.split("\n", 1)[1]


Salvor = Callable[..., Ended]


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
