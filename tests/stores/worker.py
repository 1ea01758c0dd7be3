"""A child process of the store tests: opens a store and does as it is told, line by line.

Each order is a line of JSON, ``[name, argument...]``; each answer is one too.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel

from salvor.clock import SystemIds
from salvor.errors import SalvorError
from salvor.events.records import Driver, Fence, Signal
from salvor.run_errors import NotYet
from salvor.stores.lockfile import FairLock
from salvor.stores.schema import connect
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import Log

store: SqliteStore
log: Log
held: list[object] = []


def drop_rights() -> None:
    """Become a user whom mode bits bind."""
    if os.getuid() == 0:
        os.setuid(65534)


def open_store(path: str, patience: float = 60.0) -> None:
    global store
    store = SqliteStore.open(path, patience=patience)


def take_over(run_id: str, lease: float = 3600.0) -> str:
    global log
    driver = Driver(id=SystemIds().run_id(), pid=os.getpid(), host=socket.gethostname())

    async def take() -> Log:
        fence, head = await store.take_over(run_id, driver, lease=lease, create=True)
        taken = Log(store, fence)
        taken.length, taken.head_hash = head.length, head.head_hash
        return taken

    log = anyio.run(take)
    return driver.id


def append(text: str) -> None:
    anyio.run(log.append, text)


def send_signals(run_id: str, name: str, count: int) -> list[int]:
    """Send so many signals; their numbers."""

    async def work() -> list[int]:
        sent_at = datetime.now(UTC)
        return [
            await store.signal(Signal(run_id=run_id, name=name, payload=str(n), sent_at=sent_at))
            for n in range(count)
        ]

    return anyio.run(work)


def park_or_take(count: int) -> list[list[Any]]:
    """Park on a signal again and again: what was taken, until it had to park, and so on."""

    async def work() -> list[list[Any]]:
        seen: list[list[Any]] = []
        while len(seen) < count:
            stands = await log.append_with("park", unless_signal="go")
            if stands is None:
                return seen
            assert isinstance(stands, Signal)
            assert await log.append_with("park", "answer", consumes=stands.n) is None
            seen.append([stands.n, stands.payload])
        return seen

    return anyio.run(work)


def answer_park(run_id: str, park: int, text: str) -> str:
    """Answer a park as an operator does."""

    async def work() -> str:
        page = await store.read(run_id)
        reader = Log(store, Fence(run_id=run_id, epoch=0, token=""))
        reader.length, reader.head_hash = page.head.length, page.head.head_hash
        await store.settle(reader.settlement(text, answers=park))
        return "answered"

    return anyio.run(work)


def close_store() -> None:
    anyio.run(store.close)


def hold_lock(path: str, write: bool = False) -> None:
    """Take the lock file, and with ``write`` begin a transaction that never ends."""
    lock = FairLock(f"{path}-lock")
    lock.acquire()
    held.append(lock)
    if write:
        db: sqlite3.Connection = connect(path)
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE runs SET length = 99")
        held.append(db)


def release_lock() -> None:
    lock = held.pop()
    assert isinstance(lock, FairLock)
    lock.release()


def saturate(start: float, seconds: float) -> int:
    """Append without a pause; how many appends fell into the window."""

    async def work() -> int:
        count = 0
        while (now := time.monotonic()) < start + seconds:
            await log.append("x" * 600)
            count += now >= start
        return count

    return anyio.run(work)


def fork_and_use(fifo: str) -> str:
    """Fork a child that lives until the FIFO ends, and has tried the inherited store."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            anyio.run(store.confirm, log.fence)
            told = "no error"
        except SalvorError as error:
            told = error.code
        os.write(writer, told.encode())
        os.close(writer)
        with open(fifo, "rb") as file:
            file.read()
        os._exit(0)
    os.close(writer)
    told = os.read(reader, 100).decode()
    os.close(reader)
    return told


def settle_about(run_id: str, deadline: str, who: str) -> str:
    """Answer a park shortly before its deadline, or settle it as soon as that has come."""
    due = datetime.fromisoformat(deadline)

    async def work() -> str:
        page = await store.read(run_id)
        reader = Log(store, Fence(run_id=run_id, epoch=0, token=""))
        reader.length, reader.head_hash = page.head.length, page.head.head_hash
        if who == "answer":
            while datetime.now(UTC) < due - timedelta(milliseconds=3):
                await anyio.lowlevel.checkpoint()
            await store.settle(reader.settled(who, answers=0, not_after=due))
            return who
        while True:
            try:
                await store.settle(reader.settled(who, answers=0, not_before=due))
            except NotYet:
                continue
            return who

    return anyio.run(work)


ORDERS: dict[str, Callable[..., Any]] = {
    order.__name__: order
    for order in (
        drop_rights,
        open_store,
        take_over,
        append,
        close_store,
        hold_lock,
        release_lock,
        saturate,
        send_signals,
        park_or_take,
        answer_park,
        settle_about,
        fork_and_use,
    )
}


def main() -> None:
    print(json.dumps("ready"), flush=True)
    while line := sys.stdin.readline():
        name, *arguments = json.loads(line)
        try:
            answer = ORDERS[name](*arguments)
        except SalvorError as error:
            answer = {"error": error.code, "message": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
