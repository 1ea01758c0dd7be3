"""Console sessions as documentation shows them: run again, and compared.

A line that begins with ``$ `` is a command; what follows is what it prints, both streams in
the order of their lines. Run ids and times differ from run to run: an id in the session
stands for the one that came up in its place, and times are not compared.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

RUN_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z")


@dataclass(frozen=True)
class Step:
    command: str
    printed: str


def steps(session: Path) -> list[Step]:
    found: list[Step] = []
    for block in session.read_text().split("$ ")[1:]:
        command, _, printed = block.partition("\n")
        found.append(Step(command=command, printed=printed.rstrip("\n")))
    return found


class Console:
    """A shell in one directory; ``ids`` maps the ids of the sessions to those that came up."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._directory = directory
        self._environment = environment
        self._ids: dict[str, str] = {}

    def follow(self, session: Path) -> None:
        for step in steps(session):
            printed = self._run(RUN_ID.sub(self._actual, step.command))
            self._learn(step.printed, printed)
            expected = RUN_ID.sub(self._actual, step.printed)
            assert TIME.sub("TIME", printed) == TIME.sub("TIME", expected), step.command

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._directory,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        # The shell adds its own word on a killed child, with its own process id in it.
        printed = re.sub(r"bash: line \d+: +\d+ Killed .*", "Killed", done.stdout)
        return printed.rstrip("\n")

    def _actual(self, match: re.Match[str]) -> str:
        return self._ids.get(match.group(), match.group())

    def _learn(self, expected: str, printed: str) -> None:
        for shown, actual in zip(RUN_ID.findall(expected), RUN_ID.findall(printed), strict=False):
            self._ids.setdefault(shown, actual)
