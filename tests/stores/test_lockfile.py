from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from salvor.stores.lockfile import FairLock

MakeLock = Callable[[], FairLock]


@pytest.fixture
def make_lock(tmp_path: Path) -> Iterator[MakeLock]:
    locks: list[FairLock] = []

    def make() -> FairLock:
        locks.append(FairLock(str(tmp_path / "lock")))
        return locks[-1]

    yield make
    for lock in locks:
        lock.close()


def test_one_holds_it_at_a_time(make_lock: MakeLock) -> None:
    first, second = make_lock(), make_lock()
    assert first.try_acquire()
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()


def test_the_holder_is_named(make_lock: MakeLock) -> None:
    first, second = make_lock(), make_lock()
    assert second.holder() is None
    with first.held():
        assert second.holder() == (os.getpid(), socket.gethostname())


def test_waiting_can_be_bounded(make_lock: MakeLock) -> None:
    first, second = make_lock(), make_lock()
    assert first.acquire_within(1.0)
    assert not second.acquire_within(0.01)
    assert not second.acquire_within(0.01)
    first.release()
    assert second.acquire_within(60.0)
    assert not first.try_acquire()
    second.release()


def test_a_lock_that_comes_too_late_is_handed_back(make_lock: MakeLock) -> None:
    first, second, third = make_lock(), make_lock(), make_lock()
    first.acquire()
    assert not second.acquire_within(0.01)
    first.release()
    assert third.acquire_within(60.0)
    third.release()


def test_who_asks_again_stands_behind_who_waits(make_lock: MakeLock) -> None:
    mine, other = make_lock(), make_lock()
    turns: list[str] = []
    mine.acquire()

    def wait() -> None:
        other.acquire()
        turns.append("other")

    waiting = threading.Thread(target=wait)
    waiting.start()
    while mine_could_enter(make_lock()):
        continue  # until the other one stands in front of the lock
    mine.release()
    waiting.join()
    assert turns == ["other"]
    assert not mine.try_acquire()
    other.release()


def mine_could_enter(probe: FairLock) -> bool:
    """Whether nobody stands in front of the lock yet."""
    try:
        fcntl.flock(probe._next, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        probe.close()
    return True


def test_a_closed_lock_is_free_and_forgets_its_files(make_lock: MakeLock) -> None:
    first, second = make_lock(), make_lock()
    first.acquire()
    first.close()
    file = os.open("/dev/null", os.O_RDONLY)
    first.close()
    first.forget()
    os.fstat(file)
    os.close(file)
    assert second.try_acquire()
