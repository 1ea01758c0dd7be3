from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.workers import Worker


@pytest.fixture
def start_worker() -> Iterator[Callable[[], Worker]]:
    workers: list[Worker] = []

    def start() -> Worker:
        worker = Worker(Path(__file__).with_name("worker.py"))
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
