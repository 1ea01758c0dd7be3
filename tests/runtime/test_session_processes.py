"""Sessions of real processes: killed in a call, opened by two, frozen while another goes on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.registry.registry import Registry
from salvor.runtime.named import named_run_id
from salvor.runtime.operator import History
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.testing.crash import VARIABLE, CrashPoint, When
from tests.support.crash_flow import pay, send
from tests.support.workers import Worker

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[1] / "support" / "session_worker.py"
NAME = "order-7"
RUN = named_run_id("session", "default", NAME)
CALLS: tuple[tuple[str, Any], ...] = (
    ("look", {}),
    ("touch", {}),
    ("mark", {"name": "c1"}),
    ("send", {}),
    ("pay", {"name": "c1"}),
)
EVENTS = 2 + 2 * len(CALLS)
TIMES: tuple[When, ...] = ("before", "during", "after")
ENDS: tuple[When, ...] = ("before", "after")
POINTS = [
    *(CrashPoint.event(seq, when) for seq in range(EVENTS) for when in ENDS),
    *(CrashPoint(tool, when) for tool, _ in CALLS for when in TIMES),
    CrashPoint.release(),
]

StartLoop = Callable[..., Worker]


@pytest.fixture
def start_loop(tmp_path: Path) -> Iterator[StartLoop]:
    """Starts processes with a loop of their own on one store and one ledger."""
    workers: list[Worker] = []

    def start(crash: CrashPoint | None = None, **options: float) -> Worker:
        worker = Worker(
            SCRIPT,
            str(tmp_path / "salvor.db"),
            json.dumps(options),
            env={
                "LEDGER": str(tmp_path / "ledger"),
                "GATE": str(tmp_path / "gate"),
                VARIABLE: str(crash) if crash else "",
            },
        )
        workers.append(worker)
        assert worker.answer() == "ready"
        return worker

    yield start
    for worker in workers:
        worker.clean_up()


def all_calls(worker: Worker) -> Any:
    """What a loop does: opens its session, makes its calls, closes it; how that ended.

    ``None``: the process died. Else the error it came to, or the values of the calls.
    """
    orders: list[tuple[Any, ...]] = [("open", NAME)]
    orders += [("call", tool, arguments, tool) for tool, arguments in CALLS]
    orders += [("close",), ("leave",)]
    said: list[Any] = []
    for order in orders:
        try:
            answer = worker.do(*order)
        except (json.JSONDecodeError, BrokenPipeError):
            return None
        if isinstance(answer, dict):
            assert worker.do("leave") == [None]
            return answer
        said += answer
    return said[1:-2]


def done(folder: Path) -> tuple[Counter[str], dict[str, set[str | None]]]:
    """Whole entries of the ledger by tool, and the keys each was done under."""
    counts: Counter[str] = Counter()
    keys: dict[str, set[str | None]] = {}
    path = folder / "ledger"
    for line in path.read_text().splitlines() if path.exists() else ():
        text = line[line.rfind('{"tool"') :]
        if text.endswith("}"):
            entry = json.loads(text)
            counts[entry["tool"]] += 1
            keys.setdefault(entry["tool"], set()).add(entry["key"])
    return counts, keys


def with_runtime(folder: Path, work: Callable[[Runtime], Any]) -> Any:
    async def main() -> Any:
        registry = Registry()
        registry.add(send)
        registry.add(pay)
        path = str(folder / "salvor.db")
        async with open_runtime(path, plugins=False, registry=registry) as runtime:
            return await work(runtime)

    return anyio.run(main)


def reconcile(folder: Path, tool: str) -> None:
    """What an operator does: look, and say what was found."""
    found = done(folder)[0][tool] > 0
    said = ResolvedOutput(tool) if found else NotDone(worker_dead=True)
    with_runtime(folder, lambda runtime: runtime.resolve(RUN, said))


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_c7_a_loop_that_died_anywhere_makes_its_calls_again_and_nothing_happens_twice(
    start_loop: StartLoop, tmp_path: Path, point: CrashPoint
) -> None:
    assert all_calls(start_loop(point)) is None
    answer = all_calls(start_loop())
    if isinstance(answer, dict):
        assert (answer["error"], answer["rests"]) == ("session_stopped", "OpenWrite")
        history: History = with_runtime(tmp_path, lambda runtime: runtime.history(RUN))
        reconcile(tmp_path, history.envelopes[-1].event.tool)  # type: ignore[union-attr]
        answer = all_calls(start_loop())

    assert answer == [tool for tool, _ in CALLS]
    counts, keys = done(tmp_path)
    assert counts["send"] == counts["pay"] == 1
    assert all(counts[tool] in (1, 2) for tool in ("look", "touch", "mark"))
    assert all(len(keys[tool]) == 1 for tool, _ in CALLS)
    state = with_runtime(tmp_path, lambda runtime: runtime.state(RUN))
    assert (state.status, state.output) == ("completed", "closed")


def test_c7_a_session_is_opened_by_one_process_and_by_the_next_once_that_is_dead(
    start_loop: StartLoop, tmp_path: Path
) -> None:
    first, second = start_loop(), start_loop()
    assert first.do("open", NAME) == [RUN]
    refused = second.do("open", NAME)
    assert refused["error"] == "lease_held"
    assert f"process {first.pid} " in refused["message"]
    assert first.do("call", "send", {}, "a") == ["send"]
    first.kill()

    assert second.do("open", NAME) == [RUN]
    conflict = second.do("call", "pay", {"name": "c1"}, "a")
    assert conflict["error"] == "call_id_conflict"
    assert second.do("call", "send", {}, "a") == ["send"]
    assert done(tmp_path)[0] == {"send": 1}


def test_g2_a_loop_that_was_frozen_in_a_write_finds_its_session_taken(
    start_loop: StartLoop, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "gate")
    frozen, second = start_loop(lease=2.0), start_loop(lease=2.0)
    assert frozen.do("open", NAME) == [RUN]
    frozen.order("call", "pay_slowly", {"name": "c1"}, "a")
    while not (tmp_path / "inside").exists():
        os.sched_yield()
    frozen.stop()
    while isinstance(opened := second.do("open", NAME), dict):
        assert opened["error"] == "lease_held"
    stopped = second.do("call", "look", {}, "b")
    assert (stopped["error"], stopped["rests"]) == ("session_stopped", "OpenWrite")
    frozen.go_on()
    (tmp_path / "gate").write_text("open")

    assert frozen.answer()["error"] == "fenced"
    assert frozen.do("call", "look", {}, "b")["error"] == "fenced"
    history: History = with_runtime(tmp_path, lambda runtime: runtime.history(RUN))
    assert [(late.outcome, late.value) for late in history.late] == [("output", '"pay_slowly"')]
    assert done(tmp_path)[0] == {"pay_slowly": 1}
