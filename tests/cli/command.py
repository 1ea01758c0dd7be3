"""One command line, run in this process, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
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

    @property
    def complaint(self) -> str:
        """The one sentence on standard error."""
        assert self.err.startswith("salvor: ")
        assert "Traceback" not in self.err
        assert self.err.count("\n") == 1
        return self.err.removeprefix("salvor: ").rstrip("\n")


Salvor = Callable[..., Ended]
