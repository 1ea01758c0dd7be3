"""The crash matrix: a promise that is kept passes every point, any other is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from salvor.testing.matrix import CrashMatrix
from salvor.testing.matrix_report import PointFailed
from salvor.testing.matrix_scene import CannotTest
from tests.testing import matrix_tools as tools

pytestmark = pytest.mark.slow

CLAIM = {"claim": "c-1"}
ONE_CALL = [
    "before event 0 (RunStarted)",
    "after event 0 (RunStarted)",
    "before event 1 (ToolCallRequested)",
    "after event 1 (ToolCallRequested)",
    "before event 2 (ToolCallCompleted)",
    "after event 2 (ToolCallCompleted)",
    "before event 3 (RunCompleted)",
    "after event 3 (RunCompleted)",
]


@pytest.fixture
def matrix(tmp_path: Path) -> CrashMatrix:
    return CrashMatrix(tmp_path)


def failed(matrix: CrashMatrix, function: Any, **options: Any) -> PointFailed:
    with pytest.raises(PointFailed) as caught:
        matrix(function, CLAIM, **options)
    return caught.value


@pytest.mark.parametrize("function", [tools.pay, tools.mark], ids=lambda one: one.__name__)
def test_a_tool_that_keeps_its_promise_passes_every_point(
    matrix: CrashMatrix, function: Any
) -> None:
    assert matrix(function, CLAIM) == [
        *ONE_CALL,
        f"before the body of {function.__name__} (event 1)",
        f"after the body of {function.__name__} (event 1)",
        "before entry 1",
        "during entry 1",
        "after entry 1",
    ]


def test_a_read_has_no_effects_at_any_point(matrix: CrashMatrix) -> None:
    points = matrix(tools.look, CLAIM)

    assert points[:8] == ONE_CALL
    assert len(points) == 10


def test_a_read_that_writes_a_file_is_named_with_the_file(matrix: CrashMatrix) -> None:
    error = failed(matrix, tools.look_and_write)

    assert "look_and_write (read), without a crash: a read changed something" in str(error)
    assert "/here/seen" in error.finding.problem


def test_a_read_that_has_an_effect_elsewhere_is_named_with_the_effect(
    matrix: CrashMatrix,
) -> None:
    error = failed(matrix, tools.look_and_enter)

    assert "declares read, and made an entry in the ledger: seen c-1" in error.finding.problem


def test_an_idempotent_call_that_ignores_its_key_happens_twice(matrix: CrashMatrix) -> None:
    finding = failed(matrix, tools.mark_again).finding

    assert finding.point == "before event 2 (ToolCallCompleted)"
    assert finding.problem == "it happened twice: 2 effects, without a crash 1 effect."
    assert finding.promise == "once more under the same key changes nothing further"
    assert finding.counts == (("when it was killed", 1), ("after it was resumed", 2))
    assert [str(told) for told in finding.told] == ["killed", "Completed"]
    assert [entry.text for entry in finding.entries] == ["c-1", "c-1"]
    shown = str(finding)
    assert "effects: 1 when it was killed, 2 after it was resumed" in shown
    assert '1 ToolCallRequested mark_again (idempotent) {"claim":"c-1"}' in shown


def test_an_idempotent_call_with_two_effects_is_seen_before_any_crash(
    matrix: CrashMatrix,
) -> None:
    finding = failed(matrix, tools.mark_and_mail).finding

    assert finding.point is None
    assert finding.problem == "it had 2 effects, expected was 1 (times= says another number)."


def test_the_second_effect_of_an_idempotent_call_is_not_under_the_key(
    matrix: CrashMatrix,
) -> None:
    finding = failed(matrix, tools.mark_and_mail, times=2).finding

    assert finding.point == "before event 2 (ToolCallCompleted)"
    assert "it happened twice: 3 effects" in finding.problem


def test_effects_that_nobody_can_see_are_asked_for(matrix: CrashMatrix) -> None:
    assert "no effect was seen" in failed(matrix, tools.forget).finding.problem


def test_effects_can_be_counted_by_the_author_and_places_be_the_tools_own(
    matrix: CrashMatrix,
) -> None:
    points = matrix(
        tools.file, CLAIM, effects=tools.filed, places=["filing"], env={"FILE": "filed"}
    )

    assert points[-3:] == ["before filing", "during filing", "after filing"]


def test_an_approval_is_given(matrix: CrashMatrix) -> None:
    points = matrix(tools.pay_if_allowed, CLAIM)

    assert "before event 2 (Resumed)" in points


def test_a_workflow_is_killed_at_its_parks_and_calls(matrix: CrashMatrix) -> None:
    points = matrix(tools.settle, CLAIM, answers=[True])

    assert "after event 4 (Resumed)" in points
    assert "before the body of pay (event 7)" in points
    assert "during entry 2" in points
    assert len(points) == 2 * 10 + 2 * 3 + 3 * 2


def test_a_park_without_an_answer_is_named(matrix: CrashMatrix) -> None:
    with pytest.raises(CannotTest, match=r"Pay c-1\?.*no answer 1"):
        matrix(tools.settle, CLAIM)


def test_a_read_of_a_workflow_that_has_an_effect_is_named(matrix: CrashMatrix) -> None:
    error = failed(matrix, tools.settle_by_a_liar)

    assert "look_and_enter declares read, and made an entry" in error.finding.problem


def test_a_workflow_that_goes_another_way_diverges(matrix: CrashMatrix) -> None:
    finding = failed(matrix, tools.another_way_each_time).finding

    assert finding.point == "after event 1 (ToolCallRequested)"
    assert "in the end it is Divergence" in finding.problem


def test_a_workflow_with_an_effect_outside_of_a_call_has_it_twice(matrix: CrashMatrix) -> None:
    finding = failed(matrix, tools.an_effect_of_its_own).finding

    assert "it happened twice" in finding.problem


def test_a_workflow_that_does_not_end_is_named(matrix: CrashMatrix) -> None:
    finding = failed(matrix, tools.never_ends).finding

    assert finding.problem == "the run does not get to its end."
    assert "RuntimeError: no c-1" in str(finding)


def test_what_no_other_process_finds_is_refused(matrix: CrashMatrix) -> None:
    def local() -> None: ...

    with pytest.raises(CannotTest, match="neither a tool nor a workflow"):
        matrix(local)
    with pytest.raises(CannotTest, match="top level"):
        matrix(_made())


def _made() -> Any:
    from salvor.tools.decorator import tool

    @tool(effect="read")
    def inside() -> str:
        """Inside."""
        return ""

    return inside
