from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from salvor.compose import open_runtime
from salvor.demo.claims import Claim
from salvor.demo.job import DemoError, Job, Kill, next_kill, reconcile, settle
from salvor.demo.ledger import Audit, append_payment
from salvor.demo.workflow import settle_claims
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.runtime import Runtime
from salvor.values import JsonObject

RUN = "0a0a0a0a-0000-4000-8000-000000000001"


def claims(count: int) -> list[Claim]:
    return [
        Claim(claim_id=f"A-{number}", amount_cents=100 + number, currency="EUR")
        for number in range(count)
    ]


def job(directory: Path, *, rows: int = 2, kills: int = 0) -> Job:
    return Job(run_id=RUN, claims=claims(rows), kills=kills, directory=directory)


class Notes:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[int] = []
        self.kills: list[Kill] = []

    def progress(self, events: int) -> None:
        self.events.append(events)

    def killed(self, kill: Kill) -> None:
        self.kills.append(kill)


@pytest.mark.parametrize("seed", range(20))
def test_every_kill_leaves_work_for_the_kills_after_it(seed: int) -> None:
    dice = random.Random(seed)
    events, total = 0, 402
    for left in range(5, 0, -1):
        target = next_kill(dice, events=events, total=total, left=left)
        assert events < target <= events + 1 + (total - events) / (left + 1)
        events = target
    assert events < total - 50


@pytest.fixture
async def runtime() -> AsyncIterator[Runtime]:
    async with open_runtime("memory:", plugins=False) as opened:
        yield opened


async def cut_off(runtime: Runtime, of: Job) -> None:
    """Bring the run to a payment whose outcome is unknown, and leave no ledger behind."""
    of.ledger.mkdir()
    result = await runtime.start(settle_claims, of.input(), run_id=of.run_id)
    of.ledger.rmdir()
    assert isinstance(result, OpenWrite)


def payment(claim_id: str, amount_cents: int) -> JsonObject:
    return {
        "payment_id": "p-1",
        "claim_id": claim_id,
        "amount_cents": amount_cents,
        "currency": "EUR",
    }


@pytest.mark.anyio
async def test_a_payment_that_the_ledger_has_is_not_made_again(
    runtime: Runtime, tmp_path: Path
) -> None:
    await cut_off(runtime, job(tmp_path))
    append_payment(job(tmp_path).ledger, payment("A-0", 100))

    kill = await reconcile(job(tmp_path), runtime, pid=7)
    result = await runtime.resume(RUN)

    assert kill == Kill(pid=7, events=2, claim_id="A-0", finding="paid")
    assert isinstance(result, Completed)
    assert result.recorded == {"claims": 2, "paid_cents": {"EUR": 201}}
    assert len(job(tmp_path).ledger.read_text().splitlines()) == 2


@pytest.mark.anyio
async def test_a_payment_that_the_ledger_lacks_is_made_once(
    runtime: Runtime, tmp_path: Path
) -> None:
    await cut_off(runtime, job(tmp_path))

    kill = await reconcile(job(tmp_path), runtime, pid=7)
    result = await runtime.resume(RUN)

    assert kill.finding == "never-paid"
    assert isinstance(result, Completed)
    assert len(job(tmp_path).ledger.read_text().splitlines()) == 2


@pytest.mark.anyio
async def test_a_torn_line_leaves_the_payment_open(runtime: Runtime, tmp_path: Path) -> None:
    await cut_off(runtime, job(tmp_path))
    job(tmp_path).ledger.write_text('{"claim_id":"A-')

    kill = await reconcile(job(tmp_path), runtime, pid=7)

    assert kill.finding == "unknown"
    assert (await runtime.state(RUN)).status == "needs-reconciliation"


@pytest.mark.anyio
async def test_a_run_cut_off_between_two_payments_needs_no_word(
    runtime: Runtime, tmp_path: Path
) -> None:
    await runtime.start(settle_claims, job(tmp_path).input(), run_id=RUN)

    kill = await reconcile(job(tmp_path), runtime, pid=7)

    assert kill == Kill(pid=7, events=6, claim_id=None, finding="nothing-open")


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_all_claims_are_paid_once_through_all_kills(tmp_path: Path) -> None:
    notes = Notes()
    work = job(tmp_path, rows=40, kills=3)

    report = await settle(work, notes, dice=random.Random(5))

    assert report.audit == Audit(claims=40, payments=40, duplicates=0, missing=0, wrong=0)
    assert report.kills == tuple(notes.kills)
    assert len(report.kills) == 3
    assert report.resumes == 3
    assert report.torn is None
    assert notes.events == sorted(notes.events)
    retried = sum(kill.finding == "never-paid" for kill in report.kills)
    assert report.events == work.events + 2 * retried


@pytest.mark.slow
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.anyio
async def test_a_child_that_fails_by_itself_is_no_kill(tmp_path: Path) -> None:
    work = job(tmp_path)
    work.ledger.mkdir()

    with pytest.raises(DemoError, match=r"exit code 1: run .* needs reconciliation"):
        await settle(work, Notes(), dice=random.Random(5))
