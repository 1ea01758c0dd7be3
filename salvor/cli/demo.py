"""`salvor demo`: pay a file of claims while the payer is killed, and pay each once."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import click

from salvor.cli import output, render_demo
from salvor.cli.watch import TerminalWatch
from salvor.clock import SystemIds
from salvor.demo.claims import read_claims, sample
from salvor.demo.job import Job, Report, settle
from salvor.values import MAX_ARGUMENT_BYTES, canonical_json


@click.command()
@click.option(
    "--claims",
    "file",
    type=click.Path(path_type=Path),
    help="A CSV file with claim_id, amount_cents and currency; by default one that ships.",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Pay this many claims at most.",
)
@click.option(
    "--kills",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Kill the paying process this often.",
)
@click.option("--keep", is_flag=True, help="Keep store and ledger, and say how to look at them.")
def demo(file: Path | None, rows: int, kills: int, keep: bool) -> int:
    """Pay claims in a process that is killed with SIGKILL, and pay every claim once.

    Every kill hits at a random point of the work. A payment that was cut off is looked up in
    the ledger before the run is resumed, as an operator would do it. The exit code is 1 if a
    claim was paid twice or not at all.
    """
    found = read_claims(file or sample(), limit=rows)
    for line in render_demo.faults(found.faults):
        output.complain(line)
    directory = Path(tempfile.mkdtemp(prefix="salvor-demo-"))
    job = Job(run_id=SystemIds().run_id(), claims=found.claims, kills=kills, directory=directory)
    kept = torn = False
    try:
        _check(job)
        kept = keep
        report = _settle(job)
        torn = report.torn is not None
        kept = keep or torn
        output.say()
        output.show(render_demo.report_table(report))
        output.say(render_demo.verdict(report))
        return 0 if report.audit.good and not torn else 1
    finally:
        if kept:
            output.say(render_demo.kept(job, torn))
        else:
            shutil.rmtree(directory, ignore_errors=True)


def _settle(job: Job) -> Report:
    output.say(render_demo.opening(job))
    with _ended_like_ctrl_c(), TerminalWatch(job) as watch:
        return anyio.run(lambda: settle(job, watch, dice=random.Random()))


@contextmanager
def _ended_like_ctrl_c() -> Iterator[None]:
    """SIGTERM unwinds like Ctrl-C, so that no child and no directory are left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check(job: Job) -> None:
    count = len(job.claims)
    if not count:
        raise click.UsageError("there is no claim to pay in that file.")
    if job.kills > count:
        raise click.UsageError(
            f"{job.kills} kills do not all find work in {count} claims: "
            "use more --rows or fewer --kills."
        )
    if len(canonical_json(job.input()).encode()) > MAX_ARGUMENT_BYTES:
        raise click.UsageError(
            f"{count:,} claims are more than the input of one run may hold "
            f"({MAX_ARGUMENT_BYTES:,} bytes): use fewer --rows."
        )
