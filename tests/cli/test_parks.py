"""Verbs for runs that wait: answers, approvals, signals, waking, ending."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.command import Ended, Salvor

PARKING = str(Path(__file__).with_name("parking.py"))
RULES = '[[approvals]]\ntools = "ship"\nwhen = { order = { pattern = "^big" } }\n'
SOME = "0a0a0a0a-0000-4000-8000-000000000009"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(salvor: Salvor, name: str, **given: str) -> Ended:
    return salvor("run", f"{PARKING}:{name}", "--input", json.dumps(given))


def shipping(salvor: Salvor, here: Path, order: str = "big-1") -> Ended:
    (here / "salvor.toml").write_text(RULES)
    return run(salvor, "shipping", order=order, file=str(here / "ledger"))


def test_an_approval_is_asked_by_the_operators_file_shown_and_given(
    salvor: Salvor, here: Path
) -> None:
    asked = shipping(salvor, here)
    listed = salvor("approvals", "list")
    shown = salvor("approvals", "show", asked.run_id)
    given = salvor("approvals", "approve", asked.run_id, "--park", "1", "--by", "ada")
    woken = salvor("wake", asked.run_id)

    assert asked.code == 0
    assert "asks for approval of a call that it has not made" in " ".join(asked.out.split())
    assert "tool       ship" in shown.out
    assert re.search(rf"{asked.run_id}\s+1\s+ship\s+write\s+-\s+", listed.out)
    assert "The call is approved" in given.out
    assert woken.out.endswith('"shipped big-1"\n')
    assert (here / "ledger").read_text() == "big-1\n"
    assert '"by":"ada"' in salvor("history", asked.run_id, "--json").out
    assert "No call waits for approval." in salvor("approvals", "list").out


def test_a_call_below_the_rule_is_made_at_once(salvor: Salvor, here: Path) -> None:
    assert shipping(salvor, here, "small-1").out.endswith('"shipped small-1"\n')


def test_a_denied_call_is_not_made(salvor: Salvor, here: Path) -> None:
    asked = shipping(salvor, here)
    salvor("approvals", "deny", asked.run_id, "--note", "too big")
    woken = salvor("wake", asked.run_id)
    again = salvor("approvals", "deny", asked.run_id)

    assert "it was not approved: too big" in woken.out
    assert not (here / "ledger").exists()
    assert again.code == 1
    assert "asks for no approval" in again.complaint


def test_a_signal_wakes_a_run(salvor: Salvor, here: Path) -> None:
    parked = run(salvor, "paid")
    assert "waits for the signal 'paid'" in parked.out
    sent = salvor("signal", parked.run_id, "paid", "--payload", "5", "--id", "t1")
    again = salvor("signal", parked.run_id, "paid", "--payload", "5", "--id", "t1")
    refused = salvor("signal", parked.run_id, "paid", "--payload", '"x"')
    woken = salvor("wake")

    assert sent.out.startswith("Signal 1 of the run is sent.")
    assert again.out == sent.out
    assert refused.code == 1
    assert f"{parked.run_id}  completed" in woken.out
    assert salvor("wake").out == "No run is due.\n"
    assert salvor("signal", parked.run_id, "paid").code == 1


def test_an_answer_is_recorded_and_the_run_goes_on_later(salvor: Salvor, here: Path) -> None:
    parked = run(salvor, "asked")
    refused = salvor("answer", parked.run_id, "--input", "5")
    other = salvor("answer", parked.run_id, "--input", '"2A"', "--park", "7")
    given = salvor("answer", parked.run_id, "--input", '"2A"', "--by", "ada")
    woken = salvor("wake")

    assert (refused.code, other.code, given.code) == (1, 1, 0)
    assert f"{parked.run_id}  completed" in woken.out
    assert salvor("resume", parked.run_id).out.endswith('"2A"\n')


def test_a_sleeper_is_not_woken_before_its_time(salvor: Salvor, here: Path) -> None:
    parked = run(salvor, "napping")
    assert "Until 2026-01-01" in parked.out
    woken = salvor("wake")
    early = salvor("wake", parked.run_id)

    assert f"{parked.run_id}  sleeping" in woken.out
    assert early.code == 1
    assert "waits until" in early.complaint


def test_a_cancelled_run_is_over(salvor: Salvor, here: Path) -> None:
    parked = run(salvor, "asked")
    cancelled = salvor("cancel", parked.run_id, "--reason", "closed", "--by", "ada")
    resumed = salvor("resume", parked.run_id)
    woken = salvor("wake", parked.run_id)

    assert "is abandoned" in cancelled.out
    assert resumed.code == woken.code == 1
    assert resumed.complaint == f"run {parked.run_id} was abandoned by ada: closed."
    assert " abandoned " in salvor("list").out
    assert salvor("cancel", parked.run_id).code == 1


def test_claims_are_listed_shown_and_settled(salvor: Salvor, here: Path) -> None:
    opened = run(salvor, "losing", order="o-1")
    listed = salvor("claims", "list", "--state", "held")
    key = '{"order":"o-1"}'
    words = ("native/ship_and_lose", key, "--reason", "the carrier says so", "--by", "ada")
    early = salvor("claims", "release", *words)
    settled = salvor("claims", "settle", *words, "--output", '"shipped"', "--evidence", "t7")
    shown = salvor("claims", "show", "native/ship_and_lose", key)
    resumed = salvor("resume", opened.run_id)

    assert opened.code == 1
    assert key in listed.out
    assert early.code == 1
    assert settled.out == "The claim is committed.\n"
    assert "state       committed" in shown.out
    assert "ada settled it, held to committed: the carrier says so (t7)" in shown.out
    assert resumed.out.endswith('"shipped"\n')
    assert salvor("claims", "list", "--state", "held").out == "No claim is held.\n"


def test_a_held_claim_is_released_with_the_word_that_nobody_is_at_it(
    salvor: Salvor, here: Path
) -> None:
    opened = run(salvor, "losing", order="o-1")
    words = ("native/ship_and_lose", '{"order":"o-1"}', "--reason", "never left")
    released = salvor("claims", "release", *words, "--worker-dead")
    history = salvor("history", opened.run_id)

    assert released.out == "The claim is released.\n"
    assert "never happened" in history.out


@pytest.mark.parametrize(
    "words",
    [(), ("--failed",), ("--happened",), ("--output", "1", "--failed", "--happened")],
)
def test_settling_says_one_thing(salvor: Salvor, here: Path, words: tuple[str, ...]) -> None:
    run(salvor, "losing", order="o-1")
    refused = salvor("claims", "settle", "s", "k", "--reason", "x", *words)

    assert refused.code == 2


def test_a_claim_that_is_not_there_is_named(salvor: Salvor, here: Path) -> None:
    run(salvor, "losing", order="o-1")

    assert "there is no claim on k of s" in salvor("claims", "show", "s", "k").complaint


def test_an_open_write_that_holds_a_key_is_abandoned_with_a_word(
    salvor: Salvor, here: Path
) -> None:
    opened = run(salvor, "losing", order="o-1")
    silent = salvor("abandon", opened.run_id)
    done = salvor("abandon", opened.run_id, "--unknown", "--reason", "gave up")

    assert silent.code == 1
    assert "has to be said what its call did" in silent.complaint
    assert done.out == f"run {opened.run_id} is abandoned.\n"
    assert "left open" in salvor("history", opened.run_id).out


@pytest.mark.parametrize(
    "words",
    [
        ["signal", SOME, " "],
        ["cancel", SOME, "--by", ""],
        ["claims", "release", "native/ship", "k", "--reason", " "],
    ],
)
def test_words_that_say_nothing_are_a_usage_error(salvor: Salvor, words: list[str]) -> None:
    ended = salvor(*words)

    assert ended.code == 2
    assert "it has to say something, and is blank" in ended.complaint
