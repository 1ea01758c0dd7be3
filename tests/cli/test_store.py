"""Verbs for a whole store: verify, anchor, backups, copies of runs, retention."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from salvor.cli.main import main
from tests.cli.command import Ended, Salvor

PARKING = str(Path(__file__).with_name("parking.py"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ship(salvor: Salvor, here: Path, order: str = "o-1") -> Ended:
    given = json.dumps({"order": order, "file": str(here / "ledger")})
    return salvor("run", f"{PARKING}:shipping", "--input", given)


def tamper(store: Path, *statements: str) -> None:
    db = sqlite3.connect(store)
    db.execute("DROP TRIGGER events_are_never_changed")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def test_a_whole_store_is_verified(salvor: Salvor, here: Path) -> None:
    ship(salvor, here)
    salvor("run", f"{PARKING}:paid")
    verified = salvor("verify")

    assert (verified.code, verified.out) == (0, "2 runs, 6 events, 1 claims: all as written\n")


def test_what_was_altered_is_named(salvor: Salvor, here: Path, store: Path) -> None:
    shipped = ship(salvor, here)
    tamper(store, "UPDATE events SET envelope = replace(envelope, 'shipped', 'lost')")
    verified = salvor("verify")

    assert verified.code == 1
    assert f"run {shipped.run_id}" in verified.err
    assert "its hash does not fit its text" in verified.err.replace("\n", " ")


def test_a_claim_that_does_not_fit_its_log_is_named(
    salvor: Salvor, here: Path, store: Path
) -> None:
    ship(salvor, here)
    tamper(store, "UPDATE claims SET output_hash = 'sha256:forged'")
    forged = salvor("verify")
    tamper_state = sqlite3.connect(store)
    tamper_state.execute("UPDATE claims SET state = 'held'")
    tamper_state.commit()
    tamper_state.close()
    held = salvor("verify")

    assert "is not its output" in forged.err
    assert "it is held, and its call is not open" in held.err
    assert forged.code == held.code == 1


def test_an_anchor_shows_what_a_rewritten_chain_hides(
    salvor: Salvor, here: Path, store: Path
) -> None:
    shipped = ship(salvor, here)
    assert salvor("anchor", "--output", "anchor.json").code == 0
    ship(salvor, here, "o-2")
    grown = salvor("verify", "--against", "@anchor.json")
    db = sqlite3.connect(store)
    db.execute("DELETE FROM runs WHERE run_id = ?", (shipped.run_id,))
    db.commit()
    db.close()
    gone = salvor("verify", "--against", "@anchor.json")

    assert (grown.code, grown.err) == (0, "")
    assert "was there when the anchor was made, and is gone" in gone.err
    assert json.loads(salvor("anchor").out)["claim_log"][0] == 0


def test_a_file_that_is_no_anchor_is_refused(salvor: Salvor, here: Path) -> None:
    ship(salvor, here)

    made = json.loads(salvor("anchor").out)
    (run_id,) = made["runs"]
    odd = [
        {},
        {**made, "runs": {run_id: 5}},
        {**made, "runs": {run_id: ["2", "h"]}},
        {**made, "runs": {run_id: [True, "h"]}},
        {**made, "runs": {run_id: [2]}},
        {**made, "claim_log": None},
        {name: found for name, found in made.items() if name != "claim_log"},
    ]
    for anchor in odd:
        assert "is no anchor" in salvor("verify", "--against", json.dumps(anchor)).complaint


def test_a_restored_store_takes_no_keys_until_somebody_looked(
    salvor: Salvor, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = ship(salvor, here)
    assert salvor("store", "backup", "copy.db").code == 0
    again = salvor("store", "backup", "copy.db")

    def on(*words: str) -> Ended:
        code = main(["--store", str(here / "new.db"), *words])
        printed = capsys.readouterr()
        return Ended(code=code, out=printed.out, err=printed.err)

    restored = on("store", "restore", "copy.db")
    refused = ship(on, here, "o-2")
    confirmed = on("store", "confirm")
    shipped = ship(on, here, "o-2")
    taken = on("store", "restore", "copy.db")

    assert "is there already" in again.complaint
    assert "in its incarnation 2" in restored.out
    assert refused.code == 1
    assert "restored from a backup" in refused.err
    assert confirmed.out == "Incarnation 2 is confirmed.\n"
    assert shipped.out.endswith('"shipped o-2"\n')
    assert first.run_id in on("list").out
    assert "is there already" in taken.complaint
    assert (here / "ledger").read_text() == "o-1\no-2\n"


def test_a_run_moves_to_another_store_whole(
    salvor: Salvor, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parked = salvor("run", f"{PARKING}:paid")
    salvor("signal", parked.run_id, "paid", "--payload", "5")
    assert salvor("store", "export", parked.run_id, "--output", "run.jsonl").code == 0

    def on(*words: str) -> Ended:
        code = main(["--store", str(here / "new.db"), *words])
        printed = capsys.readouterr()
        return Ended(code=code, out=printed.out, err=printed.err)

    moved = on("store", "import", "run.jsonl")
    twice = on("store", "import", "run.jsonl")
    woken = on("wake")

    assert moved.out == f"run {parked.run_id} is here now.\n"
    assert twice.code == 1
    assert f"{parked.run_id}  completed" in woken.out
    assert on("verify").code == 0


@pytest.mark.parametrize("written", [True, False])
def test_a_copy_may_hold_other_ends_of_lines_in_its_texts(
    salvor: Salvor, here: Path, written: bool
) -> None:
    odd = "a\u2028b\u0085c\u2029d\x0be\x1cf\r\ng"
    shipped = ship(salvor, here, odd)
    if written:
        salvor("store", "export", shipped.run_id, "--output", "run.jsonl")
    else:
        text = salvor("store", "export", shipped.run_id).out
        (here / "run.jsonl").write_text(text, "utf-8", newline="")
    new = ("--store", str(here / "new.db"))

    assert main([*new, "store", "import", "run.jsonl"]) == 0
    assert main([*new, "verify"]) == 0


def test_a_copy_that_is_no_text_is_told(
    salvor: Salvor, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "run.jsonl").write_bytes(b"\xff\xfe")

    assert main(["--store", str(here / "new.db"), "store", "import", "run.jsonl"]) == 1
    assert "they are not UTF-8 (invalid start byte at byte 0)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("paid?", "sent?").replace("signal paid", "signal sent"),
        lambda text: text.split("\n", 1)[1],
        lambda text: text.replace('"run_id"', '"run"', 1),
        lambda text: "x",
        lambda text: "",
    ],
)
def test_what_is_no_whole_run_is_not_taken_in(salvor: Salvor, here: Path, spoil: object) -> None:
    parked = salvor("run", f"{PARKING}:paid")
    text = salvor("store", "export", parked.run_id).out
    (here / "run.jsonl").write_text(spoil(text))  # type: ignore[operator]
    code = main(["--store", str(here / "new.db"), "store", "import", "run.jsonl"])

    assert code == 1


def test_runs_that_ended_are_let_go_and_their_keys_stay(salvor: Salvor, here: Path) -> None:
    shipped = ship(salvor, here)
    parked = salvor("run", f"{PARKING}:paid")
    young = salvor("store", "forget", "--older-than", "1")
    gone = salvor("store", "forget", "--older-than", "0")
    again = ship(salvor, here)

    assert young.out == "0 runs are gone.\n"
    assert gone.out == "1 runs are gone.\n"
    listed = salvor("list").out
    assert shipped.run_id not in listed
    assert parked.run_id in listed
    assert again.out.endswith('"shipped o-1"\n')
    assert (here / "ledger").read_text() == "o-1\n"
    assert salvor("verify").code == 0


def test_a_file_that_cannot_be_written_is_named(salvor: Salvor, here: Path) -> None:
    ship(salvor, here)
    refused = salvor("anchor", "--output", str(here / "nowhere" / "anchor.json"))

    assert refused.code == 1
    assert "cannot be written: No such file or directory" in refused.complaint


@pytest.mark.parametrize("days", ["nan", "inf", "1e9", "-1"])
def test_days_that_no_calendar_has_are_a_usage_error(salvor: Salvor, here: Path, days: str) -> None:
    ship(salvor, here)
    ended = salvor("store", "forget", "--older-than", days)

    assert ended.code == 2
    assert "--older-than" in ended.complaint
