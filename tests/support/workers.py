"""A child process that does as it is told, line by line, and can be frozen and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Worker:
    """A child process that runs a script which answers each line of JSON with another one."""

    def __init__(self, script: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            cwd=tempfile.gettempdir(),
        )
        self.pid = self._process.pid

    def order(self, name: str, *arguments: Any) -> None:
        """Tell it to do something."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([name, *arguments]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Its next answer."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def do(self, name: str, *arguments: Any) -> Any:
        """Tell it to do something, and wait for the answer."""
        self.order(name, *arguments)
        return self.answer()

    def stop(self) -> None:
        """Freeze it; returns once it stands still."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def go_on(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it; returns once it is gone."""
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """End its input; its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()

    def clean_up(self) -> None:
        """Kill it, and close what is left of it."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
