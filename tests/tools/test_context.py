"""Context, its variable, and the markers for what salvor delivers."""

from __future__ import annotations

import copy
import logging
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from salvor.errors import NotInjected, ToolDefinitionError
from salvor.tools.context import INJECTED, Context, Depends, activate
from salvor.tools.injection import Dependency, dependency_of


def context(**changes: Any) -> Context:
    values: dict[str, Any] = {
        "run_id": "r",
        "position": 3,
        "attempt": 1,
        "epoch": 1,
        "idempotency_key": None,
        "logger": logging.getLogger("test"),
    }
    return Context(**(values | changes))


def test_the_current_context_is_the_one_of_the_running_call() -> None:
    outer, inner = context(), context(position=5)

    with activate(outer):
        with activate(inner):
            assert Context.current() is inner
        assert Context.current() is outer


def test_there_is_no_context_outside_a_call() -> None:
    with activate(context()):
        pass

    with pytest.raises(NotInjected, match="no current call"):
        Context.current()


def test_a_context_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        context().attempt = 2  # type: ignore[misc]


def test_progress_goes_where_the_runtime_wants_it() -> None:
    seen: list[Any] = []

    context(report=lambda *told: seen.append(told)).progress(1, 2, "half")
    context().progress(1)

    assert seen == [(1, 2, "half")]


def test_cancellation_is_asked_for_each_time() -> None:
    answers = iter([False, True])
    told = context(is_cancelled=lambda: next(answers))

    assert [told.cancelled, told.cancelled, context().cancelled] == [False, True, False]


TOUCHES: list[Any] = [
    lambda marker: marker.query("x"),
    lambda marker: marker(),
    lambda marker: marker["x"],
    bool,
    list,
    len,
    lambda marker: "x" in marker,
    lambda marker: marker.__enter__(),
    lambda marker: marker.dependency,
]


@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("marker", [INJECTED, Depends(dict)])
def test_touching_what_was_not_delivered_says_so(touch: Any, marker: Any) -> None:
    with pytest.raises(NotInjected, match="called outside salvor"):
        touch(marker)


def test_markers_can_be_looked_at_and_copied() -> None:
    assert repr(INJECTED) == "INJECTED"
    assert repr(Depends(dict)) == "Depends(dict)"
    assert repr(copy.copy(INJECTED)) == "INJECTED"
    assert not hasattr(INJECTED, "__wrapped__")


def test_a_dependency_is_found_behind_its_marker() -> None:
    assert dependency_of(Depends(dict)) == Dependency(dependency=dict, scope="call")
    assert dependency_of(INJECTED) is None
    assert dependency_of(dict) is None


def test_a_dependency_has_to_be_callable() -> None:
    with pytest.raises(ToolDefinitionError, match="without calling it"):
        Depends({})  # type: ignore[arg-type]


def test_a_scope_is_the_call_or_the_runtime() -> None:
    shared = dependency_of(Depends(dict, scope="runtime"))

    assert shared == Dependency(dependency=dict, scope="runtime")
    with pytest.raises(ToolDefinitionError, match="'call' or 'runtime', got 'session'"):
        Depends(dict, scope="session")
