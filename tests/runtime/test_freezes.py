"""Real processes frozen and thawed at the worst moments: they do nothing they may not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.events.vocabulary import ToolCallRequested
from salvor.runtime.operator import History
from salvor.runtime.resolve import NotDone
from salvor.testing.crash import CrashPoint, CrashRun, Ended, ended, frozen, thaw
from tests.support.freeze_flow import HERE

pytestmark = pytest.mark.slow

RUN = "33333333-3333-4333-8333-333333333333"
IN_BACK_OFF = CrashPoint("back-off", "during")


def _run(folder: Path, workflow: str, *, lease: float = 1.0) -> CrashRun:
    return CrashRun(
        folder / "salvor.db",
        f"{HERE}:{workflow}",
        RUN,
        {"name": "c1"},
        env={"LEDGER": str(folder / "ledger")},
        options={"lease": lease},
    )


def _ledger(folder: Path) -> list[str]:
    return (folder / "ledger").read_text().splitlines()


def _taken_over(run: CrashRun) -> Ended:
    """Drive as soon as the frozen process's lease has ended."""
    over = run.drive()
    while over.result.get("code") == "lease_held":
        over = run.drive()
    return over


async def _history(folder: Path) -> History:
    async with open_runtime(str(folder / "salvor.db"), plugins=False) as runtime:
        return await runtime.history(RUN)


async def _never_happened(folder: Path) -> None:
    async with open_runtime(str(folder / "salvor.db"), plugins=False) as runtime:
        await runtime.resolve(RUN, NotDone(worker_dead=True))


def _intents(history: History) -> int:
    return sum(isinstance(one.event, ToolCallRequested) for one in history.envelopes)


def test_g1_frozen_in_its_back_off_an_idempotent_call_is_not_tried_again_by_the_thawed(
    tmp_path: Path,
) -> None:
    run = _run(tmp_path, "touching")
    driver = run.start(freeze=IN_BACK_OFF)
    frozen(driver)
    assert _taken_over(run).result["recorded"] == "touch_twice"

    thaw(driver)
    assert ended(driver).result["code"] == "fenced"
    assert len(_ledger(tmp_path)) == 2
    assert len({json.loads(line)["key"] for line in _ledger(tmp_path)}) == 1
    assert _intents(anyio.run(_history, tmp_path)) == 1


def test_g1_frozen_in_its_back_off_a_write_is_not_tried_again_by_the_thawed(
    tmp_path: Path,
) -> None:
    run = _run(tmp_path, "sending")
    driver = run.start(freeze=IN_BACK_OFF)
    frozen(driver)
    assert _taken_over(run).kind == "OpenWrite"
    anyio.run(_never_happened, tmp_path)
    assert run.drive().result["recorded"] == "send_twice"

    thaw(driver)
    assert ended(driver).result["code"] == "fenced"
    assert len(_ledger(tmp_path)) == 2
    assert _intents(anyio.run(_history, tmp_path)) == 2


def test_g1_thawed_in_its_back_off_before_anybody_came_a_write_goes_on(tmp_path: Path) -> None:
    run = _run(tmp_path, "sending", lease=30.0)
    driver = run.start(freeze=IN_BACK_OFF)
    frozen(driver)
    thaw(driver)
    assert ended(driver).result["recorded"] == "send_twice"
    assert len(_ledger(tmp_path)) == 2


def test_s8_frozen_before_it_gives_its_lease_back_a_driver_takes_nothing_from_the_next(
    tmp_path: Path,
) -> None:
    run = _run(tmp_path, "asking_twice", lease=60.0)
    first = run.start(freeze=CrashPoint.release())
    frozen(first)
    refused = run.drive(answer=["one"])
    assert refused.result["code"] == "lease_held"
    assert str(first.pid) in str(refused.result["message"])

    _let_the_lease_end(tmp_path)
    second = run.start(answer=["one"], freeze=CrashPoint.release())
    frozen(second)  # and the run's lease is its own
    thaw(first)
    assert ended(first).kind == "Parked"
    third = run.drive(answer=["two"])
    assert third.result["code"] == "lease_held"
    assert str(second.pid) in str(third.result["message"])

    thaw(second)
    assert ended(second).kind == "Parked"
    assert run.drive(answer=["two"]).result["recorded"] == ["one", "two"]


def _let_the_lease_end(folder: Path) -> None:
    """As if its time had passed, however fast this machine is."""
    with closing(sqlite3.connect(folder / "salvor.db")) as db:
        assert db.execute("UPDATE runs SET lease_until = 0").rowcount == 1
        db.commit()
