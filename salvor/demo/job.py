"""The main job: pay claims in a child process that is killed again and again.

The child is the `salvor` command itself, `run` first and `resume` after every kill. This
process watches how far the log has come, kills with SIGKILL, reaps, finds out from the
ledger what became of a payment that was cut off, says so, and starts the next child.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import anyio
from anyio.abc import Process

from salvor.compose import open_runtime
from salvor.config import Config
from salvor.demo.claims import Claim
from salvor.demo.ledger import Audit, Ledger, audit, read_ledger
from salvor.errors import SalvorError
from salvor.events.vocabulary import ToolCallRequested
from salvor.run_errors import UnknownRun
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.values import JsonObject, canonical_json

WORKFLOW = "salvor.demo.workflow:settle_claims"
POLL_SECONDS = 0.001

# What the ledger said about a payment that a kill cut off.
Finding = Literal["nothing-open", "paid", "never-paid", "unknown"]


class DemoError(SalvorError):
    """The child process failed by itself."""

    code = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done, and the directory where store, ledger and input are kept."""

    run_id: str
    claims: Sequence[Claim]
    kills: int
    directory: Path

    @property
    def store(self) -> Path:
        """The SQLite store of the run."""
        return self.directory / "salvor.db"

    @property
    def ledger(self) -> Path:
        """The file that payments are written to."""
        return self.directory / "ledger.jsonl"

    @property
    def events(self) -> int:
        """How long the log will be: two events a payment, the start and the end."""
        return 2 * len(self.claims) + 2

    def input(self) -> JsonObject:
        """The input of the workflow."""
        return {
            "claims": [claim.model_dump() for claim in self.claims],
            "ledger": str(self.ledger),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill: the process, the log's length after it, and what was found out."""

    pid: int
    events: int
    claim_id: str | None
    finding: Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How it ended; ``torn`` is the unfinished ledger line that stopped the job, if one did."""

    audit: Audit
    kills: tuple[Kill, ...]
    resumes: int
    events: int
    seconds: float
    torn: str | None


class Watch(Protocol):
    """Who looks on."""

    def progress(self, events: int) -> None:
        """The log has this many events now."""
        ...

    def killed(self, kill: Kill) -> None:
        """The child was killed, and the ledger was asked."""
        ...


def next_kill(dice: random.Random, *, events: int, total: int, left: int) -> int:
    """The event count to kill at: early enough that the ``left`` kills all find work."""
    share = (total - events) / (left + 1)
    return events + 1 + int(dice.uniform(0.25, 1) * share)


async def settle(job: Job, watch: Watch, *, dice: random.Random) -> Report:
    """Pay all claims of the job through all its kills.

    Raises:
        DemoError: a child ended by itself without finishing the run.
    """
    started = anyio.current_time()
    (job.directory / "input.json").write_text(canonical_json(job.input()))
    kills: list[Kill] = []
    children = 0
    async with open_runtime(store=str(job.store), plugins=False, config=Config()) as runtime:
        events = 0
        while True:
            left = job.kills - len(kills)
            target = next_kill(dice, events=events, total=job.events, left=left) if left else None
            pid = await _child(job, runtime, watch, target, first=children == 0)
            children += 1
            if pid is None:
                break
            kill = await reconcile(job, runtime, pid)
            events = kill.events
            kills.append(kill)
            watch.killed(kill)
            if kill.finding == "unknown":
                break
        state = await runtime.state(job.run_id)
    ledger = read_ledger(job.ledger)
    return Report(
        audit=audit(job.claims, ledger),
        kills=tuple(kills),
        resumes=children - 1,
        events=state.next_seq,
        seconds=anyio.current_time() - started,
        torn=ledger.torn,
    )


def _command(job: Job, *, first: bool) -> list[str]:
    salvor = [sys.executable, "-m", "salvor", "--store", str(job.store)]
    if first:
        given = f"@{job.directory / 'input.json'}"
        return [*salvor, "run", WORKFLOW, "--run-id", job.run_id, "--input", given]
    return [*salvor, "resume", job.run_id]


async def _child(
    job: Job, runtime: Runtime, watch: Watch, target: int | None, *, first: bool
) -> int | None:
    """Run one child, to its end or to the kill; the process id if it was killed."""
    with (job.directory / "child.log").open("wb") as log:
        process = await anyio.open_process(
            _command(job, first=first), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        killed = await _follow(job, runtime, watch, process, target)
    finally:
        if process.returncode is None:
            process.kill()
        with anyio.CancelScope(shield=True):
            code = await process.wait()
    if not killed and code != 0:
        said = (job.directory / "child.log").read_text(errors="replace").splitlines()
        last = said[-1].removeprefix("salvor: ") if said else "it said nothing."
        raise DemoError(f"the process that pays ended with exit code {code}: {last}")
    return process.pid if killed else None


async def _follow(
    job: Job, runtime: Runtime, watch: Watch, process: Process, target: int | None
) -> bool:
    """Watch the log grow; kill the process as soon as it has ``target`` events."""
    while process.returncode is None:
        events = await _length(runtime, job.run_id)
        watch.progress(events)
        if target is not None and events >= target:
            process.kill()
            return True
        await anyio.sleep(POLL_SECONDS)
    return False


async def _length(runtime: Runtime, run_id: str) -> int:
    try:
        return (await runtime.store.head(run_id)).length
    except UnknownRun:
        return 0


async def reconcile(job: Job, runtime: Runtime, pid: int) -> Kill:
    """Say what became of the payment that the kill cut off; the child is reaped by now."""
    state = await runtime.state(job.run_id)
    claim_id: str | None = None
    finding: Finding = "nothing-open"
    if state.status == "needs-reconciliation" and state.open_call is not None:
        claim_id = _claim_id(state.open_call)
        finding = await _settle_open(job, runtime, claim_id, read_ledger(job.ledger))
    return Kill(pid=pid, events=state.next_seq, claim_id=claim_id, finding=finding)


def _claim_id(intent: ToolCallRequested) -> str:
    assert isinstance(intent.input, dict)
    return str(intent.input["claim_id"])


async def _settle_open(job: Job, runtime: Runtime, claim_id: str, ledger: Ledger) -> Finding:
    payment = ledger.payment(claim_id)
    if payment is not None:
        await runtime.resolve(job.run_id, ResolvedOutput(payment))
        return "paid"
    if ledger.torn is not None:
        return "unknown"
    await runtime.resolve(job.run_id, NotDone(worker_dead=True))
    return "never-paid"
