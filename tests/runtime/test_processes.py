"""Several real processes on one store: races for a key, frozen drivers, dead holders."""

import os
import signal
import subprocess
from pathlib import Path

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.runtime.operator import History
from salvor.runtime.resolve import ResolvedOutput
from salvor.testing.crash import CrashPoint, CrashRun, ended
from tests.support.crash_flow import HERE

pytestmark = pytest.mark.slow

RACERS = 16


def _run_id(number: int) -> str:
    return f"22222222-2222-4222-8222-{number:012d}"


def _run(folder: Path, workflow: str, number: int, **options: float) -> CrashRun:
    return CrashRun(
        folder / "salvor.db",
        f"{HERE}:{workflow}",
        _run_id(number),
        {"name": "c1"},
        env={"LEDGER": str(folder / "ledger"), "GATE": str(folder / "gate")},
        options=options,
    )


def _lines(folder: Path) -> list[str]:
    return (folder / "ledger").read_text().splitlines()


async def _history(folder: Path, number: int) -> History:
    async with open_runtime(str(folder / "salvor.db"), plugins=False) as runtime:
        return await runtime.history(_run_id(number))


async def _resolve(folder: Path, number: int, output: str) -> None:
    async with open_runtime(str(folder / "salvor.db"), plugins=False) as runtime:
        await runtime.resolve(_run_id(number), ResolvedOutput(output))


def _until_inside(folder: Path, child: subprocess.Popen[str]) -> None:
    while not (folder / "inside").exists():
        assert child.poll() is None, child.communicate()


def test_e3_sixteen_processes_race_for_one_key_and_one_executes(tmp_path: Path) -> None:
    read, write = os.pipe()
    children = [_run(tmp_path, "paying", n).start(gate=read) for n in range(RACERS)]
    os.close(read)
    os.close(write)
    results = [ended(child) for child in children]

    assert [result.result.get("recorded") for result in results] == ["pay"] * RACERS
    assert len(_lines(tmp_path)) == 1


def test_e5_racers_park_behind_a_holder_that_is_slower_than_their_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    holder = _run(tmp_path, "paying_slowly", 0).start()
    _until_inside(tmp_path, holder)
    runs = [_run(tmp_path, "paying_slowly", n, claim_wait=0.05) for n in range(1, RACERS)]
    waiting = [child.start() for child in runs]
    assert [ended(child).kind for child in waiting] == ["Parked"] * len(runs)

    (tmp_path / "gate").write_text("open")
    assert ended(holder).result["recorded"] == "pay_slowly"

    again = [run.start() for run in runs]
    assert [ended(child).result.get("recorded") for child in again] == ["pay_slowly"] * len(runs)
    assert len(_lines(tmp_path)) == 1


def test_g1_a_frozen_driver_that_was_taken_over_cannot_append_and_its_result_is_kept(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "gate")
    run = _run(tmp_path, "paying_slowly", 0, lease=1.0)
    frozen = run.start()
    _until_inside(tmp_path, frozen)
    os.kill(frozen.pid, signal.SIGSTOP)

    over = run.drive()
    while over.result.get("code") == "lease_held":
        over = run.drive()
    assert over.kind == "OpenWrite"

    os.kill(frozen.pid, signal.SIGCONT)
    (tmp_path / "gate").write_text("open")
    assert ended(frozen).result["code"] == "fenced"

    history = anyio.run(_history, tmp_path, 0)
    assert len(history.envelopes) == 2
    assert [(late.intent_seq, late.outcome, late.value) for late in history.late] == [
        (1, "output", '"pay_slowly"')
    ]
    anyio.run(_resolve, tmp_path, 0, "pay_slowly")
    assert run.drive().result["recorded"] == "pay_slowly"
    assert len(_lines(tmp_path)) == 1


def test_g5_a_killed_driver_is_known_dead_at_once(tmp_path: Path) -> None:
    run = _run(tmp_path, "paying", 0, lease=3600.0)
    assert run.drive(CrashPoint("pay", "after")).killed

    assert run.drive().kind == "OpenWrite"


def test_two_drivers_of_one_run_at_once_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    run = _run(tmp_path, "paying_slowly", 0)
    first = run.start()
    _until_inside(tmp_path, first)

    second = run.drive()
    assert second.result["code"] == "lease_held"
    assert str(first.pid) in str(second.result["message"])

    (tmp_path / "gate").write_text("open")
    assert ended(first).kind == "Completed"
