from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Ended, Salvor

UNKNOWN = "0a0a0a0a-0000-4000-8000-00000000dead"


@pytest.fixture
def asked(salvor: Salvor, flows: str, tmp_path: Path) -> Ended:
    given = json.dumps({"order": "A-1", "file": str(tmp_path / "ledger")})
    return salvor("run", f"{flows}:ask", "--input", given)


def test_an_answer_lets_the_run_go_on(salvor: Salvor, asked: Ended, tmp_path: Path) -> None:
    ended = salvor("resume", asked.run_id, "--input", '{"approved": true}')

    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == {"receipt": "A-1"}
    assert (tmp_path / "ledger").read_text() == "A-1\n"


def test_without_an_answer_it_says_again_what_it_waits_for(salvor: Salvor, asked: Ended) -> None:
    ended = salvor("resume", asked.run_id)

    assert ended.code == 0
    assert ended.out == asked.body


def test_an_answer_that_does_not_fit_leaves_it_waiting(salvor: Salvor, asked: Ended) -> None:
    refused = salvor("resume", asked.run_id, "--input", '{"approved": "maybe", "x": 1}')

    assert refused.code == 1
    assert "/approved" in refused.complaint
    assert "nothing was recorded" in refused.complaint
    assert salvor("resume", asked.run_id).out == asked.body


def test_a_final_no_fails_the_run(salvor: Salvor, asked: Ended) -> None:
    no = salvor("resume", asked.run_id, "--input", '{"approved": false, "note": "too much"}')
    again = salvor("resume", asked.run_id)

    assert no.code == 1
    assert no.complaint == f"run {asked.run_id} failed: A-1 was not approved: too much."
    assert again.code == 1
    assert again.complaint.startswith(f"run {asked.run_id} has failed: ")


def test_a_finished_run_says_so(salvor: Salvor, flows: str) -> None:
    done = salvor("run", f"{flows}:total", "--input", '{"numbers": [4]}')
    again = salvor("resume", done.run_id)

    assert again.code == 0
    assert "has completed; nothing is left to do" in again.out
    assert again.out.endswith("\n4\n")


def test_null_is_an_answer(salvor: Salvor, asked: Ended) -> None:
    ended = salvor("resume", asked.run_id, "--input", "null")

    assert ended.code == 1
    assert "the answer does not fit" in ended.complaint


def test_an_answer_nobody_asked_for_is_refused(salvor: Salvor, flows: str) -> None:
    lost = salvor("run", f"{flows}:lose", "--input", '{"order": "A-1"}')
    ended = salvor("resume", lost.run_id, "--input", "1")

    assert ended.code == 1
    assert "waits for no answer" in ended.complaint


def test_another_target_may_be_named(salvor: Salvor, asked: Ended, flows: str) -> None:
    other = salvor("resume", asked.run_id, f"{flows}:total")

    assert other.code == 1
    assert "Traceback" not in other.err


def test_an_unknown_run_is_named(salvor: Salvor, asked: Ended, store: Path) -> None:
    ended = salvor("resume", UNKNOWN)

    assert ended.code == 1
    assert ended.complaint == (
        f"there is no run {UNKNOWN} in this store. "
        f"`salvor --store {store} list` shows the runs it holds."
    )


def test_looking_makes_no_store(salvor: Salvor, store: Path) -> None:
    for verb in ("resume", "history"):
        ended = salvor(verb, UNKNOWN)
        assert ended.code == 1
        assert ended.complaint.startswith(f"there is no store at {store}.")
    assert salvor("list").code == 1
    assert not store.exists()


@pytest.mark.slow
def test_of_two_resumes_at_once_one_is_refused(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path
) -> None:
    started, go = tmp_path / "started", tmp_path / "go"
    given = json.dumps({"started": str(started), "go": str(go)})
    run_id = "0a0a0a0a-0000-4000-8000-000000000002"
    command = [sys.executable, "-m", "salvor", "--store", str(store)]
    with subprocess.Popen(
        [*command, "run", f"{flows}:slow", "--run-id", run_id, "--input", given],
        stdout=subprocess.PIPE,
        text=True,
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        try:
            while not started.exists():
                assert first.poll() is None
            second = salvor("resume", run_id)
            listed = salvor("list")
        finally:
            go.touch()
        rest = first.stdout.read()

    assert second.code == 1
    assert f"run {run_id} is being driven by process {first.pid}" in second.complaint
    assert "awaiting-tool" in listed.out
    assert f"driven by process {first.pid}" in listed.out
    assert first.returncode == 0
    assert json.loads(rest) == ["done", "done"]


@pytest.mark.slow
def test_a_run_whose_process_died_in_a_write_stops_for_a_person(
    salvor: Salvor, flows: str, store: Path
) -> None:
    command = [sys.executable, "-m", "salvor", "--store", str(store)]
    died = subprocess.run(
        [*command, "run", f"{flows}:die", "--input", '{"order": "A-1"}'],
        capture_output=True,
        text=True,
        check=False,
    )
    run_id = died.stdout.split()[1]

    ended = salvor("resume", run_id)
    settled = salvor("resolve", run_id, "--output", '"charged"')
    done = salvor("resume", run_id)

    assert died.returncode == -9
    assert ended.code == 1
    assert '  arguments  {"order":"A-1"}\n' in ended.out
    assert settled.code == 0
    assert (done.code, done.out) == (0, '"charged"\n')
