"""The tests of the desk, with the fixtures of salvor's pytest plugin."""

from pathlib import Path

import pytest
from desk import pay_claim, settle

from salvor import Completed, Runtime, ToolFailure
from salvor.testing.clock import FakeClock
from salvor.testing.matrix import CrashMatrix
from salvor.testing.replays import assert_replays
from salvor.testing.scripted import Script


# --8<-- [start:tool]
def test_pay_claim_survives_every_crash(crash_matrix: CrashMatrix) -> None:
    crash_matrix(pay_claim, {"claim_id": "C-1", "cents": 1200}, env={"BANK": "test"})


# --8<-- [end:tool]
# --8<-- [start:workflow]
def test_settle_survives_every_crash(crash_matrix: CrashMatrix) -> None:
    claim = {"claim_id": "C-1", "cents": 1200}
    crash_matrix(settle, claim, answers=[True], env={"BANK": "test"})


# --8<-- [end:workflow]
# --8<-- [start:scripted]
@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_bank_that_is_busy_is_asked_again(
    runtime: Runtime, scripted: Script, fake_clock: FakeClock
) -> None:
    double = scripted(pay_claim, [ToolFailure("busy", happened=False), "paid"])
    asked = await runtime.run(settle, "C-1", 1200)
    fake_clock.move(3600)
    done = await runtime.resume(asked.run_id, settle, answer=True)

    assert isinstance(done, Completed)
    assert double.calls == [{"claim_id": "C-1", "cents": 1200}] * 2


# --8<-- [end:scripted]
# --8<-- [start:replays]
def test_the_runs_of_last_month_replay() -> None:
    assert_replays(settle, Path(__file__).with_name("settle.jsonl"))


# --8<-- [end:replays]
