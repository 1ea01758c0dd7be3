"""How the demo looks."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from rich.table import Table

from salvor.cli.render import command, printable
from salvor.demo.claims import Fault
from salvor.demo.job import Finding, Job, Kill, Report

FINDINGS: dict[Finding, str] = {
    "nothing-open": "between two payments",
    "paid": "while paying {claim}; the ledger has the payment, so its receipt is recorded",
    "never-paid": "while paying {claim}; the ledger has nothing, so it is paid again",
    "unknown": "while paying {claim}; the ledger ends in a torn line, so nobody knows",
}


def opening(job: Job) -> str:
    """What is about to happen."""
    return (
        f"Paying {_counted(len(job.claims), 'claim')} in run {job.run_id}, "
        f"and killing the process that pays {_counted(job.kills, 'time')}."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def faults(found: Iterable[Fault]) -> Iterable[str]:
    """The rows that are left out."""
    for fault in found:
        yield f"salvor: line {fault.line} is left out: {printable(fault.reason)}."


def kill_line(number: int, kill: Kill) -> str:
    """One kill and what it hit."""
    what = FINDINGS[kill.finding].format(claim=printable(kill.claim_id or ""))
    return f"  kill {number} at event {kill.events}: process {kill.pid} died {what}"


def report_table(report: Report) -> Table:
    """The figures at the end."""
    made = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    made.add_column()
    made.add_column(justify="right")
    figures = {
        "claims": str(report.audit.claims),
        "payments": str(report.audit.payments),
        "duplicates": str(report.audit.duplicates),
        "missing": str(report.audit.missing),
        "kills": str(len(report.kills)),
        "resumes": str(report.resumes),
        "events": str(report.events),
        "time": f"{report.seconds:.1f} s",
    }
    for name, figure in figures.items():
        made.add_row(name, figure)
    return made


def verdict(report: Report) -> str:
    """What the figures mean, in a sentence."""
    if report.torn is not None:
        return f"A payment is in doubt, the ledger has the unfinished line {report.torn!r}."
    if report.audit.wrong:
        wrong = _counted(report.audit.wrong, "payment")
        return f"The ledger has {wrong} of a wrong amount or for no claim of the file."
    if not report.audit.good:
        return "Some claim was paid twice or not at all: salvor did not keep its word."
    return "Every claim was paid once."


def kept(job: Job, torn: bool) -> str:
    """The commands that look at what was kept, and the one that goes on after a torn line."""
    store = str(job.store)
    lines = [
        "",
        "Store and ledger are kept. Look at them with:",
        f"  {command('list', store=store)}",
        f"  {command('history', job.run_id, store=store)}",
        f"  {shlex.join(['tail', str(job.ledger)])}",
    ]
    if torn:
        lines += [
            "What settles the payment in doubt, this shows:",
            f"  {command('resume', job.run_id, store=store)}",
        ]
    return "\n".join(lines)
