"""The yardstick for durable calls: the same commits, and nothing else.

One writer thread, SQLite with a write-ahead log and ``synchronous=FULL``; each append
hashes its row, updates the run's head and inserts the row, and an asyncio future carries
the answer back. No fence beyond the head update, no savepoint, no lock file, no claims.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any

from salvor.events.chain import GENESIS, row_hash

_SCHEMA = """
CREATE TABLE heads (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL,
    token TEXT NOT NULL, length INTEGER NOT NULL, head_hash TEXT NOT NULL, last INTEGER
);
CREATE TABLE events (
    run INTEGER NOT NULL, seq INTEGER NOT NULL, recorded_at INTEGER NOT NULL,
    envelope TEXT NOT NULL, row_hash TEXT NOT NULL, epoch INTEGER NOT NULL,
    nonce TEXT NOT NULL, UNIQUE (run, seq)
);
"""
_HEAD = (
    "UPDATE heads SET length = ?, head_hash = ?, last = ?"
    " WHERE id = ? AND epoch = ? AND token = ? AND length = ? AND head_hash = ?"
)
_EVENT = (
    "INSERT INTO events (run, seq, recorded_at, envelope, row_hash, epoch, nonce)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_TOKEN = "0123456789abcdef" * 2
_Job = tuple[tuple[Any, ...], tuple[Any, ...], "asyncio.Future[None]"]


class RawLoop:
    """Appends rows to a fresh file, several to a commit if ``group``."""

    def __init__(self, path: Path, *, runs: int, group: bool) -> None:
        self._group = group
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(_SCHEMA)
        self._db.executemany(
            "INSERT INTO heads VALUES (?, ?, 1, ?, 0, ?, NULL)",
            [(run, _run_id(run), _TOKEN, GENESIS) for run in range(1, runs + 1)],
        )
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    async def append(self, run: int, seq: int, prev: str, text: str) -> str:
        """Append one row; its hash, once it is durable."""
        fresh = row_hash(prev, _run_id(run), seq, text)
        now = 1_700_000_000_000_000 + seq
        head = (seq + 1, fresh, now, run, 1, _TOKEN, seq, prev)
        event = (run, seq, now, text, fresh, 1, f"{_TOKEN}.{seq}")
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((head, event, done))
        await done
        return fresh

    def close(self) -> None:
        """Commit what is queued and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._db.close()

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            batch = [job]
            for _ in range(min(self._queue.qsize(), 255) if self._group else 0):
                more = self._queue.get()
                if more is None:
                    self._queue.put(None)
                else:
                    batch.append(more)
            self._commit(batch)
            batch[0][2].get_loop().call_soon_threadsafe(_answer, batch)

    def _commit(self, batch: Sequence[_Job]) -> None:
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        if len(batch) == 1:
            db.execute(_HEAD, batch[0][0])
            db.execute(_EVENT, batch[0][1])
        else:
            db.executemany(_HEAD, [job[0] for job in batch])
            db.executemany(_EVENT, [job[1] for job in batch])
        db.execute("COMMIT")


def _answer(batch: Sequence[_Job]) -> None:
    for _, _, done in batch:
        done.set_result(None)


def _run_id(run: int) -> str:
    return f"00000000-0000-4000-8000-{run:012d}"


async def raw_calls(
    path: Path, *, callers: int, seconds: float, texts: Sequence[str], group: bool
) -> float:
    """Calls per second of ``callers`` tasks that append ``texts``, one commit each, per call."""
    loop = RawLoop(path, runs=callers, group=group)
    try:
        end = perf_counter() + seconds
        started = perf_counter()
        counts = await asyncio.gather(
            *(_calls(loop, run, texts, end) for run in range(1, callers + 1))
        )
        return sum(counts) / (perf_counter() - started)
    finally:
        loop.close()


async def _calls(loop: RawLoop, run: int, texts: Sequence[str], end: float) -> int:
    calls, seq, prev = 0, 0, GENESIS
    while perf_counter() < end:
        for text in texts:
            prev = await loop.append(run, seq, prev, text)
            seq += 1
        calls += 1
    return calls
