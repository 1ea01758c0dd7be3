"""What is wrong at a point, where the runtime itself would break its word: with scenes made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from salvor.events.vocabulary import (
    Event,
    RunCompleted,
    RunStarted,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.testing.crash import CrashPoint
from salvor.testing.ledger import Entry
from salvor.testing.matrix_point import Subject, Uncrashed, go_through, try_point
from salvor.testing.matrix_report import PointFailed, named
from salvor.testing.matrix_scene import Scene, Told
from salvor.values import JsonObject
from tests.testing.matrix_tools import look, pay

KILLED = Told(kind="killed")
OPEN = Told(kind="OpenWrite", facts={"seq": 1, "tool": "pay", "reason": "it crashed"})
DONE = Told(kind="Completed", facts={"output": "paid", "log": [], "bodies": [1], "changed": []})
LOG: tuple[Event, ...] = (
    RunStarted(agent_def_hash="sha256:0", input={}),
    ToolCallRequested(seq=1, tool="pay", input={}, effect="write", idempotency_key="k"),
    ToolCallCompleted(seq=1, output="paid"),
    RunCompleted(output="paid"),
)
POINT = CrashPoint("body 1", "after")


class MadeUp:
    """A scene in which what happens is a list."""

    def __init__(
        self,
        ends: Sequence[Told],
        counts: Sequence[int],
        *,
        texts: Sequence[Sequence[str]] = (),
        entries: Sequence[Entry] = (),
        log: Sequence[Event] = LOG,
    ) -> None:
        self._ends, self._counts, self._texts = list(ends), list(counts), list(texts)
        self._entries, self._log = entries, log
        self.told: list[Told] = []
        self.said: list[JsonObject] = []

    def to_rest(self, crash: str = "", *, watched: bool = False) -> Told:
        self.told.append(self._ends.pop(0))
        return self.told[-1]

    def count(self) -> int:
        return self._counts.pop(0) if len(self._counts) > 1 else self._counts[0]

    def texts(self) -> Sequence[str]:
        return self._texts.pop(0) if self._texts else ["begun"]

    def log(self) -> Sequence[Event]:
        return self._log

    def entries(self) -> Sequence[Entry]:
        return self._entries

    def resolve(self, say: JsonObject) -> None:
        self.said.append(say)


def subject(function: Any = pay) -> Subject:
    return Subject(function=function, input={}, answers=(), effects=None, times=None)


def uncrashed() -> Uncrashed:
    return Uncrashed(told=DONE, log=LOG, effects=1, entries=1, bodies=[1], before={1: 0})


def tried(scene: MadeUp, point: CrashPoint = POINT) -> Uncrashed:
    found = uncrashed()
    try_point(subject(), found, point, cast("Scene", scene))
    return found


def problem(scene: MadeUp) -> str:
    with pytest.raises(PointFailed) as caught:
        tried(scene)
    return caught.value.finding.problem


@pytest.mark.parametrize(
    ("counts", "word"),
    [
        ([1, 1, 1, 1, 1], {"what": "output", "output": "paid"}),
        ([0, 0, 0, 1, 1], {"what": "not done"}),
    ],
)
def test_a_write_that_stopped_is_resolved_by_what_is_seen(
    counts: list[int], word: JsonObject
) -> None:
    scene = MadeUp([KILLED, OPEN, OPEN, DONE], counts)
    tried(scene)

    assert scene.said == [word]


def test_how_many_effects_came_before_a_call_is_learnt_at_its_intent() -> None:
    found = tried(MadeUp([KILLED, OPEN, OPEN, DONE], [0, 0, 0, 1]), CrashPoint.event(1, "after"))

    assert found.before == {1: 0}


def test_a_point_that_is_not_reached_is_told() -> None:
    assert "it never came there" in problem(MadeUp([DONE], [1]))


def test_a_log_that_is_rewritten_is_told() -> None:
    scene = MadeUp([KILLED, DONE], [1, 1], texts=[["a", "b"], ["a", "c", "d"]])

    assert problem(scene) == "what had been recorded before the crash is another."


def test_a_write_that_runs_and_stops_is_told() -> None:
    assert (
        problem(MadeUp([KILLED, OPEN], [0, 1])) == "pay had effects after it stopped for a person."
    )


@pytest.mark.parametrize(
    ("again", "counts"), [(DONE, [1, 1, 1]), (OPEN, [1, 1, 2])], ids=["went on", "had effects"]
)
def test_a_write_that_runs_again_unresolved_is_told(again: Told, counts: list[int]) -> None:
    scene = MadeUp([KILLED, OPEN, again], counts)

    assert problem(scene) == "a write that nobody had resolved was run again."


def test_a_log_that_goes_on_unresolved_is_told() -> None:
    texts = [["a"], ["a"], ["a"], ["a", "b"]]
    scene = MadeUp([KILLED, OPEN, OPEN], [1, 1, 1], texts=texts)

    assert problem(scene) == "the log of a run that waits for a person went on."


@pytest.mark.parametrize(
    ("end", "count", "text"),
    [
        (DONE, 2, "it happened twice: 2 effects, without a crash 1 effect."),
        (DONE, 0, "it is lost: 0 effects, without a crash 1 effect."),
        (Told(kind="Failed", facts={"error": "no"}), 1, "in the end it is Failed (no); "),
    ],
)
def test_another_end_is_told(end: Told, count: int, text: str) -> None:
    assert problem(MadeUp([KILLED, end], [1, count])).startswith(text)


def test_an_entry_by_a_read_is_told() -> None:
    log = list(LOG)
    log[1] = ToolCallRequested(seq=1, tool="look", input={}, effect="read", idempotency_key=None)
    scene = MadeUp([DONE], [0], entries=[Entry(text="seen", position=1)], log=log)
    with pytest.raises(PointFailed, match="look declares read, and made an entry"):
        go_through(subject(look), cast("Scene", scene))


def test_points_have_names() -> None:
    assert named(CrashPoint.event(1, "before"), LOG) == "before event 1 (ToolCallRequested)"
    assert named(POINT, LOG) == "after the body of pay (event 1)"
    assert named(CrashPoint("half-way", "during"), LOG) == "during half-way"
