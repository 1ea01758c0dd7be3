"""`salvor demo`: pay a file of claims while the payer is killed, and pay each once."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import anyio
import click

from salvor.cli import output, render_demo
from salvor.cli.watch import TerminalWatch
from salvor.clock import SystemIds
from salvor.demo.claims import ClaimFile, read_claims, sample
from salvor.demo.job import Job, Report, settle


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
    _check(found, kills)
    directory = Path(tempfile.mkdtemp(prefix="salvor-demo-"))
    job = Job(run_id=SystemIds().run_id(), claims=found.claims, kills=kills, directory=directory)
    kept = keep
    try:
        report = _settle(job)
        kept = keep or report.torn is not None
        output.say()
        output.show(render_demo.report_table(report))
        output.say(render_demo.verdict(report))
        return 0 if report.audit.good and report.torn is None else 1
    finally:
        if kept:
            output.say(render_demo.kept(job))
        else:
            shutil.rmtree(directory, ignore_errors=True)


def _settle(job: Job) -> Report:
    output.say(render_demo.opening(job))
    with TerminalWatch(job) as watch:
        return anyio.run(lambda: settle(job, watch, dice=random.Random()))


def _check(found: ClaimFile, kills: int) -> None:
    if not found.claims:
        raise click.UsageError("there is no claim to pay in that file.")
    if kills > len(found.claims):
        raise click.UsageError(
            f"{kills} kills do not all find work in {len(found.claims)} claims: "
            "use more --rows or fewer --kills."
        )
