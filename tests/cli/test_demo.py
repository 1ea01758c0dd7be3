"""`salvor demo`, for real and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from salvor.cli import render_demo
from salvor.demo.job import Job, Kill, Report
from salvor.demo.ledger import Audit
from tests.cli.command import Ended, Salvor


def figures(ended: Ended) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) +(\d\S*)", ended.out, re.MULTILINE))


@pytest.mark.slow
def test_every_claim_is_paid_once(salvor: Salvor) -> None:
    ended = salvor("demo", "--rows", "30", "--kills", "2")

    assert (ended.code, ended.err) == (0, "")
    table = figures(ended)
    assert (table["claims"], table["payments"]) == ("30", "30")
    assert (table["duplicates"], table["missing"]) == ("0", "0")
    assert (table["kills"], table["resumes"]) == ("2", "2")
    assert ended.out.endswith("Every claim was paid once.\n")


@pytest.mark.slow
def test_a_file_of_ones_own_is_paid_but_for_its_bad_rows(salvor: Salvor, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("claim_id,amount_cents,currency\nA-1,5,EUR\nA-2,x,EUR\nA-1,5,EUR\nA-3,7,CHF\n")

    ended = salvor("demo", "--claims", str(file), "--kills", "0", "--keep")
    commands = [line.strip() for line in ended.out.splitlines() if line.startswith("  salvor")]
    store = Path(commands[0].split()[2])
    kept = salvor(*commands[1].split()[1:])

    assert ended.code == 0
    assert ended.err.splitlines() == [
        "salvor: line 3 is left out: amount_cents has to be a whole number, got 'x'.",
        "salvor: line 4 is left out: claim A-1 is there twice.",
    ]
    assert figures(ended)["payments"] == "2"
    assert kept.out.count("ToolCallCompleted") == 2
    for leftover in sorted(store.parent.rglob("*"), reverse=True):
        leftover.unlink() if leftover.is_file() else leftover.rmdir()
    store.parent.rmdir()


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--claims", "nowhere.csv"], 1, "nowhere.csv cannot be read"),
        (["--rows", "3", "--kills", "4"], 2, "4 kills do not all find work in 3 claims"),
        (["--rows", "0"], 2, "0 is not in the range x>=1"),
    ],
)
def test_what_cannot_be_demonstrated_is_refused(
    salvor: Salvor, words: list[str], code: int, complaint: str
) -> None:
    ended = salvor("demo", *words)

    assert (ended.code, ended.out) == (code, "")
    assert complaint in ended.complaint


def test_a_file_without_a_good_row_is_refused(salvor: Salvor, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("claim_id,amount_cents,currency\n")

    ended = salvor("demo", "--claims", str(file))

    assert ended.code == 2
    assert "there is no claim to pay in that file" in ended.complaint


def test_more_claims_than_one_run_takes_are_refused(salvor: Salvor, tmp_path: Path) -> None:
    file = tmp_path / "many.csv"
    rows = "".join(f"A-{number},5,EUR\n" for number in range(20_000))
    file.write_text(f"claim_id,amount_cents,currency\n{rows}")

    ended = salvor("demo", "--claims", str(file), "--rows", "20000")

    assert ended.code == 2
    assert "20,000 claims are more than the input of one run may hold" in ended.complaint


def test_what_is_kept_can_be_looked_at_and_a_torn_line_settled(tmp_path: Path) -> None:
    job = Job(run_id="r", claims=[], kills=1, directory=tmp_path)

    assert f"tail {tmp_path}/ledger.jsonl" in render_demo.kept(job, torn=False)
    assert render_demo.kept(job, torn=True).endswith(f"--store {tmp_path}/salvor.db resume r")


def report(audit: Audit, torn: str | None = None) -> Report:
    return Report(audit=audit, kills=(), resumes=0, events=6, seconds=1.0, torn=torn)


def test_the_verdict_says_what_went_wrong() -> None:
    good = Audit(claims=2, payments=2, duplicates=0, missing=0, wrong=0)
    twice = Audit(claims=2, payments=3, duplicates=1, missing=0, wrong=0)
    wrong = Audit(claims=2, payments=2, duplicates=0, missing=0, wrong=1)

    assert render_demo.verdict(report(good)) == "Every claim was paid once."
    assert "paid twice or not at all" in render_demo.verdict(report(twice))
    assert "1 payment of a wrong amount" in render_demo.verdict(report(wrong))
    assert "unfinished line '{'" in render_demo.verdict(report(good, torn="{"))


def test_a_kill_says_what_it_hit_and_what_the_ledger_said() -> None:
    kill = Kill(pid=7, events=11, claim_id="A-1", finding="paid")

    assert render_demo.kill_line(1, kill) == (
        "  kill 1 at event 11: process 7 died while paying A-1; "
        "the ledger has the payment, so its receipt is recorded"
    )


def test_the_opening_counts_claims(tmp_path: Path) -> None:
    job = Job(run_id="r", claims=[], kills=1, directory=tmp_path)

    assert render_demo.opening(job).startswith("Paying 0 claims in run r, ")
