"""The demo's progress on a terminal: a bar, and a line for every kill."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from salvor.cli import output
from salvor.cli.render_demo import kill_line
from salvor.demo.job import Job, Kill


class TerminalWatch:
    """Shows a job going on; without a terminal only the lines for kills are printed."""

    def __init__(self, job: Job) -> None:
        self._kills = 0
        self._progress = Progress(
            TextColumn("paying"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("events"),
            TimeElapsedColumn(),
            console=Console(file=sys.stdout, highlight=False),
            transient=True,
            disable=not output.is_terminal(),
        )
        self._task = self._progress.add_task("", total=job.events)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def progress(self, events: int) -> None:
        """Move the bar."""
        self._progress.update(self._task, completed=events)

    def killed(self, kill: Kill) -> None:
        """Print what a kill hit."""
        self._kills += 1
        line = kill_line(self._kills, kill)
        if self._progress.disable:
            output.say(line)
        else:
            self._progress.console.print(line, soft_wrap=True)
