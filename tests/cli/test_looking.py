"""`history`, `list`: looking at what is there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.command import Salvor

UNKNOWN = "0a0a0a0a-0000-4000-8000-00000000dead"


def test_history_shows_every_event_on_a_line(salvor: Salvor, flows: str) -> None:
    done = salvor("run", f"{flows}:total", "--input", '{"numbers": [1]}')
    lines = salvor("history", done.run_id).out.splitlines()

    assert [line.split()[3] for line in lines] == [
        "RunStarted",
        "ToolCallRequested",
        "ToolCallCompleted",
        "RunCompleted",
    ]
    assert re.match(r"    0  \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  RunStarted ", lines[0])
    assert lines[1].endswith('add [read] {"left":0,"right":1}')
    assert lines[3].endswith("RunCompleted       1")


def test_history_marks_what_an_operator_settled(salvor: Salvor, flows: str) -> None:
    lost = salvor("run", f"{flows}:lose", "--input", '{"order": "A-1"}')
    salvor("resolve", lost.run_id, "--failed", "--unknown", "--message", "no trace of it")
    line = salvor("history", lost.run_id).out.splitlines()[-1]

    assert line.endswith("(call 1, error, happened: unknown, settled by operator) no trace of it")


def test_history_as_json_is_what_is_stored(salvor: Salvor, flows: str) -> None:
    done = salvor("run", f"{flows}:total", "--input", '{"numbers": []}')
    events = [json.loads(line) for line in salvor("history", done.run_id, "--json").out.split()]

    assert [event["event"]["kind"] for event in events] == ["RunStarted", "RunCompleted"]
    assert {event["run_id"] for event in events} == {done.run_id}


def test_history_of_an_unknown_run_is_refused(salvor: Salvor, flows: str) -> None:
    salvor("run", f"{flows}:total", "--input", '{"numbers": []}')
    ended = salvor("history", UNKNOWN)

    assert (ended.code, ended.out) == (1, "")
    assert f"there is no run {UNKNOWN}" in ended.complaint


def test_list_shows_the_newest_last_and_at_most_the_limit(salvor: Salvor, flows: str) -> None:
    runs = [salvor("run", f"{flows}:total", "--input", '{"numbers": []}').run_id for _ in range(3)]
    all_of_them = salvor("list").out.splitlines()
    two = salvor("list", "--limit", "2").out.splitlines()

    assert all_of_them[0].split() == [
        "RUN", "ID", "STATUS", "EVENTS", "STARTED", "LAST", "ACTIVITY", "WORKFLOW", "NOTE",
    ]  # fmt: skip
    assert [line.split()[0] for line in all_of_them[1:]] == runs
    assert [line.split()[0] for line in two[1:]] == runs[1:]


def test_a_store_may_be_named_by_url_and_after_the_verb(salvor: Salvor, store: Path) -> None:
    none = salvor("list", "--store", f"sqlite:///{store}.other")
    fleeting = salvor("list", "--store", "memory:")

    assert none.code == 1
    assert none.complaint.startswith(f"there is no store at {store}.other.")
    assert fleeting.code == 1
    assert fleeting.complaint.startswith("a store in memory begins with this command")


def test_list_selects_by_status(salvor: Salvor, flows: str, tmp_path: Path) -> None:
    salvor("run", f"{flows}:total", "--input", '{"numbers": []}')
    given = json.dumps({"order": "A-1", "file": str(tmp_path / "ledger")})
    asked = salvor("run", f"{flows}:ask", "--input", given)
    lost = salvor("run", f"{flows}:lose", "--input", '{"order": "A-1"}')

    chosen = salvor("list", "--status", "suspended", "--status", "needs-reconciliation")

    rows = [line.split()[:2] for line in chosen.out.splitlines()[1:]]
    assert rows == [[asked.run_id, "suspended"], [lost.run_id, "needs-reconciliation"]]
    assert salvor("list", "--status", "failed").out == "No run in this store is failed.\n"
    assert salvor("list", "--status", "asleep").code == 2
