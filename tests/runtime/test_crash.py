"""A real child process, killed with SIGKILL at every boundary, and resumed."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.targets import load_target
from salvor.testing.crash import CrashPoint, CrashRun
from tests.support.crash_flow import TARGET

pytestmark = pytest.mark.slow

RUN = "11111111-2222-4333-8444-555555555555"
TOOLS = ("look", "touch", "mark", "send", "pay")
WRITES = ("send", "pay")
EVENTS = 14  # head, five calls, a clock reading, random bits, the end


class Scene:
    """One store, one ledger, one run."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "salvor.db"
        self.ledger = folder / "ledger"
        self.run = CrashRun(
            self.store, TARGET, RUN, {"name": "c1"}, env={"LEDGER": str(self.ledger)}
        )

    def rows(self) -> list[tuple[int, str, str]]:
        if not self.store.exists():
            return []
        with sqlite3.connect(self.store) as connection:
            return connection.execute(
                "SELECT seq, envelope, row_hash FROM events ORDER BY seq"
            ).fetchall()

    def done(self) -> tuple[Counter[str], dict[str, set[str | None]]]:
        """Whole lines of the ledger by tool, and the keys each was done under."""
        counts: Counter[str] = Counter()
        keys: dict[str, set[str | None]] = {}
        if self.ledger.exists():
            for line in self.ledger.read_text().splitlines():
                for part in _entries(line):
                    counts[part["tool"]] += 1
                    keys.setdefault(part["tool"], set()).add(part["key"])
        return counts, keys

    def reconcile(self, tool: str) -> None:
        """What an operator does: look, and say what was found."""
        found = self.done()[0][tool] > 0
        anyio.run(self._resolve, ResolvedOutput(tool) if found else NotDone(worker_dead=True))

    async def _resolve(self, resolution: Any) -> None:
        load_target(TARGET)
        async with open_runtime(str(self.store), plugins=False) as runtime:
            await runtime.resolve(RUN, resolution)


def _entries(line: str) -> Iterator[dict[str, Any]]:
    """The whole entries of a line; a torn one before it is left out."""
    start = line.rfind('{"tool"')
    text = line[start:]
    if text.endswith("}"):
        yield json.loads(text)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


POINTS = [
    *(CrashPoint.event(seq, when) for seq in range(EVENTS) for when in ("before", "after")),
    *(CrashPoint(tool, when) for tool in TOOLS for when in ("before", "during", "after")),
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_a_run_killed_anywhere_resumes_and_does_nothing_twice(
    scene: Scene, point: CrashPoint
) -> None:
    killed = scene.run.drive(point)
    assert killed.killed
    prefix = scene.rows()

    ended = scene.run.drive()
    opened = _open_write(point)
    assert ended.kind == ("OpenWrite" if opened else "Completed")
    if opened:
        assert scene.rows() == prefix
        assert scene.run.drive().kind == "OpenWrite"
        scene.reconcile(opened)
        ended = scene.run.drive()

    assert ended.kind == "Completed"
    assert ended.result["recorded"] == list(TOOLS)
    rows = scene.rows()
    assert rows[: len(prefix)] == prefix
    assert [row[0] for row in rows] == list(range(len(rows)))
    counts, keys = scene.done()
    for tool in WRITES:
        assert counts[tool] == 1
    for tool in ("touch", "mark"):
        assert len(keys[tool]) == 1
        assert keys[tool] != {None}
    assert set(counts) == set(TOOLS)


def _open_write(point: CrashPoint) -> str | None:
    """The write that is left open when the process dies at this point."""
    intents = {9: "send", 11: "pay"}
    if point.place in WRITES:
        return point.place
    if point.place.startswith("event "):
        seq = int(point.place.removeprefix("event "))
        return intents.get(seq) if point.when == "after" else intents.get(seq - 1)
    return None


def test_the_points_are_all_there_are(scene: Scene) -> None:
    ended = scene.run.drive()

    assert ended.kind == "Completed"
    assert len(scene.rows()) == EVENTS
