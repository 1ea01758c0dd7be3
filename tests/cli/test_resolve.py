from __future__ import annotations

import pytest

from tests.cli.command import Ended, Salvor


@pytest.fixture
def lost(salvor: Salvor, flows: str) -> Ended:
    return salvor("run", f"{flows}:lose", "--input", '{"order": "A-1"}')


def test_an_output_becomes_the_result_of_the_call(salvor: Salvor, lost: Ended) -> None:
    settled = salvor("resolve", lost.run_id, "--output", '"r-1"')
    done = salvor("resume", lost.run_id)

    assert (settled.code, settled.err) == (0, "")
    assert settled.out.endswith(f"resume {lost.run_id}\n")
    assert (done.code, done.out) == (0, '"r-1"\n')


def test_an_output_has_to_fit_the_tool(salvor: Salvor, lost: Ended) -> None:
    refused = salvor("resolve", lost.run_id, "--output", "5")

    assert refused.code == 1
    assert "string" in refused.complaint
    assert salvor("resolve", lost.run_id, "--output", '"r-1"').code == 0


def test_a_failure_reaches_the_workflow(salvor: Salvor, lost: Ended) -> None:
    settled = salvor("resolve", lost.run_id, "--failed", "--not-happened", "--message", "declined")
    ended = salvor("resume", lost.run_id)

    assert settled.code == 0
    assert ended.code == 1
    assert "declined" in ended.complaint


def test_not_done_needs_the_word_that_the_worker_is_dead(salvor: Salvor, lost: Ended) -> None:
    refused = salvor("resolve", lost.run_id, "--not-done")
    settled = salvor("resolve", lost.run_id, "--not-done", "--worker-dead")
    again = salvor("resume", lost.run_id)

    assert refused.code == 1
    assert "--worker-dead" in refused.complaint
    assert settled.code == 0
    assert again.code == 1
    assert "stopped at event 3" in again.out


def test_a_run_with_no_open_write_cannot_be_resolved(salvor: Salvor, flows: str) -> None:
    done = salvor("run", f"{flows}:total", "--input", '{"numbers": []}')
    ended = salvor("resolve", done.run_id, "--output", "1")

    assert ended.code == 1
    assert "has no open write, it is completed" in ended.complaint


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "exactly one of --output, --failed and --not-done"),
        (["--output", "1", "--not-done"], "exactly one of --output, --failed and --not-done"),
        (["--failed"], "--failed needs one of --happened"),
        (["--not-done", "--happened"], "they belong to --failed alone"),
        (["--output", "1", "--message", "x"], "--message belongs to --failed"),
        (["--output", "1", "--worker-dead"], "--worker-dead belongs to --not-done"),
        (["--output", "{"], "--output is not JSON"),
    ],
)
def test_flags_that_contradict_each_other_are_a_usage_error(
    salvor: Salvor, flags: list[str], complaint: str
) -> None:
    ended = salvor("resolve", "0a0a0a0a-0000-4000-8000-000000000001", *flags)

    assert ended.code == 2
    assert complaint in ended.complaint


def test_an_output_that_does_not_fit_is_no_answer_to_a_question(
    salvor: Salvor, lost: Ended
) -> None:
    complaint = salvor("resolve", lost.run_id, "--output", "5").complaint

    assert complaint.startswith("the output does not fit what charge_and_lose gives: ")
    assert f"Nothing was recorded, neither in run {lost.run_id}" in complaint
