"""Real processes at one park, and one key across parks, deaths and outages of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.events.vocabulary import Resumed, RunCompleted, ToolCallCompleted
from salvor.runtime.operator import History
from salvor.stores.lockfile import FairLock
from salvor.stores.sqlite import SqliteStore
from salvor.testing.crash import CrashPoint, CrashRun, ended
from tests.support import crash_flow
from tests.support.freeze_flow import HERE
from tests.support.workers import Worker

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "support" / "runtime_worker.py"

StartWorker = Callable[..., Worker]


def _run_id(number: int) -> str:
    return f"44444444-4444-4444-8444-{number:012d}"


RUN = _run_id(0)


@pytest.fixture
def start_worker(tmp_path: Path) -> Iterator[StartWorker]:
    """Starts processes with a runtime of their own on one store and one ledger."""
    workers: list[Worker] = []

    def start(deadline: float = 60.0, **options: float) -> Worker:
        worker = Worker(
            SCRIPT,
            str(tmp_path / "salvor.db"),
            json.dumps(options),
            env={"LEDGER": str(tmp_path / "ledger"), "DEADLINE": str(deadline)},
        )
        workers.append(worker)
        assert worker.answer() == "ready"
        return worker

    yield start
    for worker in workers:
        worker.clean_up()


def _crash_run(folder: Path, workflow: str, number: int, **options: float) -> CrashRun:
    return CrashRun(
        folder / "salvor.db",
        f"{HERE}:{workflow}",
        _run_id(number),
        {"name": "c1"},
        env={"LEDGER": str(folder / "ledger"), "DEADLINE": "60"},
        options=options,
    )


def _ledger(folder: Path) -> list[str]:
    path = folder / "ledger"
    return [json.loads(line)["tool"] for line in path.read_text().splitlines()]


async def _history(folder: Path, number: int = 0) -> History:
    async with open_runtime(str(folder / "salvor.db"), plugins=False) as runtime:
        return await runtime.history(_run_id(number))


def _refusals(answers: list[Any]) -> set[str]:
    return {answer["error"] for answer in answers if isinstance(answer, dict)}


def test_d1_a_second_answer_never_reaches_the_next_park(start_worker: StartWorker) -> None:
    workers = [start_worker() for _ in range(4)]
    for number in range(8):
        run_id = _run_id(number)
        assert workers[0].do("start", "asking_twice", run_id, "c1") == ["Parked"]
        for index, worker in enumerate(workers):
            worker.order("answer", run_id, f"answer {index}", 1)
            worker.order("wake", run_id)
        told = [(worker.answer(), worker.answer()) for worker in workers]

        won = [index for index, (answer, _) in enumerate(told) if isinstance(answer, list)]
        assert len(won) == 1
        assert _refusals([answer for answer, _ in told]) == {"answer_conflict"}
        assert workers[0].do("wake", run_id) == ["Parked"]
        assert workers[0].do("answer", run_id, "second", 3) == ["RunState"]
        assert workers[0].do("wake", run_id) == ["Completed", [f"answer {won[0]}", "second"]]


def test_d4_answer_deadline_and_cancel_race_and_one_wins(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    workers = [start_worker(0.4) for _ in range(3)]
    for number in range(12):
        run_id = _run_id(number)
        assert workers[0].do("start", "asking_in_time", run_id, "c1") == ["Parked"]
        deadline = workers[0].do("deadline", run_id)
        orders = [("answer", run_id, "answer", 2), ("wake", run_id), ("cancel", run_id)]
        early = [0.004, 0.0, 0.001 * (number % 5)]
        for worker, order, seconds in zip(workers, orders, early, strict=True):
            worker.order("at", deadline, seconds, *order)
        answered, *_ = [worker.answer() for worker in workers]

        assert _refusals([answered]) <= {
            "answer_conflict", "conflict", "deadline_passed", "lease_held", "run_ended",
            "wrong_state",  # the cancel was first
        }  # fmt: skip
        while isinstance(end := workers[0].do("wake", run_id), dict):
            assert end["error"] in ("lease_held", "not_yet")
        events = [one.event for one in anyio.run(_history, tmp_path, number).envelopes]
        inputs = [event.input for event in events if isinstance(event, Resumed)]
        assert inputs in ([], ["answer"], ["default"])
        assert (answered == ["RunState"]) is (inputs == ["answer"])
        assert end == (["Completed", inputs[0]] if isinstance(events[-1], RunCompleted)
                       else ["Abandoned"])  # fmt: skip


def test_e3_a_key_across_a_park_is_nobody_elses_until_the_answer_and_copied_then(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    worker = start_worker(claim_wait=0.05)
    booking = _crash_run(tmp_path, "booking", 0)
    assert booking.drive(CrashPoint.event(3, "after")).killed  # parked, and dead
    assert worker.do("start", "booking", _run_id(1), "c1") == ["Parked"]
    assert worker.do("answer", RUN, "12A", 3) == ["RunState"]
    assert worker.do("wake", _run_id(1)) == ["Completed", "12A"]
    assert booking.drive().result["recorded"] == "12A"
    assert _ledger(tmp_path) == ["book"]


def test_e3_a_key_across_a_sleep_is_nobody_elses_until_it_is_over(
    start_worker: StartWorker, tmp_path: Path
) -> None:
    worker = start_worker(claim_wait=0.05)
    assert _crash_run(tmp_path, "resting", 0).drive(CrashPoint.event(3, "after")).killed
    assert worker.do("start", "resting", _run_id(1), "c1") == ["Parked"]
    while isinstance(told := worker.do("wake", RUN), dict):
        assert told["error"] == "not_yet"
    assert told == ["Completed", "rested"]
    assert worker.do("wake_due") == {_run_id(1): ["Completed", "rested"]}
    assert _ledger(tmp_path) == ["rest"]


@pytest.mark.parametrize(
    ("happened", "then", "ledger"),
    [
        ("no", ["Completed", "pay"], ["pay", "pay"]),
        ("yes", ["Failed"], ["pay"]),
        ("unknown", ["Failed"], ["pay"]),
    ],
)
def test_f4_the_key_of_an_abandoned_run_is_what_its_operator_says(
    start_worker: StartWorker, tmp_path: Path, happened: str, then: list[str], ledger: list[str]
) -> None:
    worker = start_worker(claim_wait=0.05)
    assert _crash_run(tmp_path, "paying", 0).drive(CrashPoint("pay", "after")).killed
    assert worker.do("start", "paying", _run_id(1), "c1") == ["Parked"]
    assert worker.do("abandon", RUN, happened) == ["RunState"]
    assert worker.do("wake_due") == {_run_id(1): then}
    assert _ledger(tmp_path) == ledger


def test_g4_a_store_that_is_away_for_longer_than_a_lease_loses_no_result(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    path = tmp_path / "salvor.db"
    run = CrashRun(
        path,
        f"{crash_flow.HERE}:paying_slowly",
        RUN,
        {"name": "c1"},
        env={"LEDGER": str(tmp_path / "ledger"), "GATE": str(tmp_path / "gate")},
        options={"lease": 1.0},
    )
    first = run.start()
    while not (tmp_path / "inside").exists():
        assert first.poll() is None, first.communicate()

    outage = FairLock(f"{path}-lock")  # nobody can write while this is held
    outage.acquire()
    (tmp_path / "gate").write_text("open")
    anyio.run(_until_the_lease_is_over, path)
    second = run.start()
    outage.release()
    ends = [ended(first), ended(second)]

    history = anyio.run(_history, tmp_path)
    completed = [one for one in history.envelopes if isinstance(one.event, ToolCallCompleted)]
    kept = [late.value for late in history.late]
    assert _ledger(tmp_path) == ["pay_slowly"]
    assert len(completed) + len(kept) == 1, (ends, kept)
    if kept:
        assert kept == ['"pay_slowly"']
        assert [end.result.get("code") or end.kind for end in ends] == ["fenced", "OpenWrite"]
    else:
        assert "Completed" in {end.kind for end in ends}


async def _until_the_lease_is_over(path: Path) -> None:
    store = SqliteStore.open(path, clock=SystemClock(), patience=0.2)  # closing asks for the lock
    lease = (await store.head(RUN)).lease
    assert lease is not None
    while datetime.now(UTC) <= lease.expires_at:
        await anyio.lowlevel.checkpoint()
    await store.close()
