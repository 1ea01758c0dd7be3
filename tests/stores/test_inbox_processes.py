"""Signals, answers and parks of several processes at once, on one file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import start_log

if TYPE_CHECKING:
    from tests.support.workers import Worker

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

StartWorker = Callable[[], "Worker"]


async def test_d3_signals_of_eight_processes_are_numbered_without_a_gap(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    await start_log(store, "run-1")
    workers = [start_worker() for _ in range(8)]
    for worker in workers:
        worker.do("open_store", str(path))
    for worker in workers:
        worker.order("send_signals", "run-1", "go", 25)
    answers = [worker.answer() for worker in workers]

    assert sorted(n for numbers in answers for n in numbers) == list(range(1, 201))
    assert all(numbers == sorted(numbers) for numbers in answers)
    inbox = await store.inbox("run-1")
    assert [one.n for one in inbox] == list(range(1, 201))
    await store.close()


async def test_d3_a_signal_that_meets_a_park_is_taken_or_makes_the_run_due(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    driver, sender = start_worker(), start_worker()
    for worker in (driver, sender):
        worker.do("open_store", str(path))
    driver.do("take_over", "run-1")
    driver.do("append", "begin")
    taken: list[list[object]] = []
    parks = 0
    sender.order("send_signals", "run-1", "go", 150)
    while len(taken) < 150:
        taken += driver.do("park_or_take", 150 - len(taken))
        parks += 1
    assert sender.answer() == list(range(1, 151))

    # Whatever the interleaving: each once, in order, and none left behind a park.
    assert [n for n, _ in taken] == list(range(1, 151))
    assert all(one.consumed is not None for one in await store.inbox("run-1"))
    await store.close()


async def test_d3_a_park_that_a_signal_meets_is_refused_or_its_run_is_due(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    driver, sender = start_worker(), start_worker()
    for worker in (driver, sender):
        worker.do("open_store", str(path))
    driver.do("take_over", "run-1")
    for n in range(1, 101):
        sender.order("send_signals", "run-1", "go", 1)
        driver.order("park_or_take", 1)
        assert sender.answer() == [n]
        if driver.answer() == []:
            assert (await store.head("run-1")).due_at is not None
            assert driver.do("park_or_take", 1) == [[n, "0"]]
        assert (await store.head("run-1")).due_at is None
    await store.close()


async def test_d3_a_signal_behind_a_park_makes_the_run_due(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    driver, sender = start_worker(), start_worker()
    for worker in (driver, sender):
        worker.do("open_store", str(path))
    driver.do("take_over", "run-1")
    assert driver.do("park_or_take", 1) == []
    driver.kill()
    assert (await store.head("run-1")).due_at is None
    sender.do("send_signals", "run-1", "go", 1)
    assert (await store.head("run-1")).due_at is not None
    assert list(await store.due()) == ["run-1"]
    await store.close()


async def test_d1_of_many_answers_to_one_park_one_wins(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-1")
    await log.append("park")
    await store.release(log.fence)
    workers = [start_worker() for _ in range(6)]
    for worker in workers:
        worker.do("open_store", str(path))
    for number, worker in enumerate(workers):
        worker.order("answer_park", "run-1", 0, f"answer {number}")
    answers = [worker.answer() for worker in workers]

    won = [number for number, answer in enumerate(answers) if answer == "answered"]
    assert len(won) == 1
    assert {answer["error"] for answer in answers if answer != "answered"} <= {
        "answer_conflict",
        "conflict",
    }
    page = await store.read("run-1")
    assert [row.envelope for row in page.rows] == ["park", f"answer {won[0]}"]
    await store.close()


async def test_d4_of_an_answer_and_the_deadline_one_wins(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path)
    workers = [start_worker() for _ in range(6)]
    for worker in workers:
        worker.do("open_store", str(path))
    for run in range(10):
        log = await start_log(store, f"run-{run}")
        await log.append("park")
        await store.release(log.fence)
        deadline = datetime.now(UTC) + timedelta(seconds=0.1)
        for number, worker in enumerate(workers):
            who = ("answer", "default")[number % 2]
            worker.order("settle_about", f"run-{run}", deadline.isoformat(), who)
        told = [worker.answer() for worker in workers]

        won = [one for one in told if isinstance(one, str)]
        assert len(won) == 1
        refused = {one["error"] for one in told if not isinstance(one, str)}
        assert refused <= {"answer_conflict", "conflict", "deadline_passed"}
        page = await store.read(f"run-{run}")
        assert [row.envelope for row in page.rows] == ["park", won[0]]
    await store.close()
