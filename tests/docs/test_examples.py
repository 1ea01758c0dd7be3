"""The example programs and the README do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLAIMS = ROOT / "examples/claims"


def salvor(directory: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "salvor", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_code_of_the_readme_asks_once_and_pays(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/readme/pay.py", tmp_path)
    given = '{"claims": {"C-1": 12000, "C-2": 4550}}'

    asked = salvor(tmp_path, "run", "pay.py:settle", "--input", given)
    assert "waits for an answer: Pay 2 claims?" in asked
    paid = salvor(tmp_path, "resume", asked.split()[1], "--input", "true")

    assert json.loads(paid) == ["payment of C-1", "payment of C-2"]
    assert (tmp_path / "ledger.txt").read_text() == "C-1 12000\nC-2 4550\n"


@pytest.mark.slow
def test_the_output_in_the_readme_is_that_of_the_demo() -> None:
    readme = (ROOT / "README.md").read_text()
    [shown] = re.findall(r"```console\n\$ make demo\n(.*?)```", readme, re.DOTALL)
    printed = subprocess.run(
        [sys.executable, "-m", "salvor", "demo", "--rows", "20", "--kills", "2"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert shape(printed) == shape(shown)


def shape(text: str) -> list[str]:
    """The lines without what differs from run to run: figures, ids, kills."""
    lines = [line for line in text.splitlines() if not line.startswith("  kill ")]
    return [re.sub(r"[0-9a-f-]{36}|\d+(\.\d+)?", "N", " ".join(line.split())) for line in lines]


def start(directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CLAIMS / "main.py"), str(CLAIMS / "claims.csv")],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_the_claims_example_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    with start(tmp_path) as first:
        try:
            while not (ledger.exists() and ledger.read_text().count("\n") > 20):
                assert first.poll() is None
        finally:
            first.kill()
    with start(tmp_path) as second:
        printed, _ = second.communicate()
    if second.returncode == 1:
        asked = re.match(r"Was (.*) paid\?", printed)
        assert asked is not None
        claim = json.loads(asked[1])["claim_id"]
        run_id = re.findall(r"resolve (\S+)", printed)[0]
        found = [line for line in ledger.read_text().splitlines() if claim in line]
        word = ["--output", found[0]] if found else ["--not-done", "--worker-dead"]
        salvor(tmp_path, "--store", "./claims.db", "resolve", run_id, *word)
        with start(tmp_path) as third:
            printed, _ = third.communicate()

    assert printed.startswith("300 claims are paid: ")
    paid = [json.loads(line)["claim_id"] for line in ledger.read_text().splitlines()]
    assert len(paid) == len(set(paid)) == 300
