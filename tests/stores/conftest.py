from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


class Worker:
    """A child process that runs ``worker.py``."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
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
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """End its input; its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait()

    def clean_up(self) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue


@pytest.fixture
def start_worker() -> Iterator[Callable[[], Worker]]:
    workers: list[Worker] = []

    def start() -> Worker:
        worker = Worker()
        workers.append(worker)
        assert worker.answer() == "ready"
        return worker

    yield start
    for worker in workers:
        worker.clean_up()


@pytest.fixture
def start_workers(start_worker: Callable[[], Worker]) -> Callable[[int], list[Worker]]:
    return lambda count: [start_worker() for _ in range(count)]


@pytest.fixture
def shared_directory() -> Iterator[Path]:
    """A directory that other users can look into."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"
