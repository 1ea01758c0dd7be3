"""A run's result, printed where it belongs, and the exit code that goes with it."""

from __future__ import annotations

from typing import Any

from salvor.cli import output, render
from salvor.events.fold import RunState
from salvor.runtime.outcome import Abandoned, Completed, Failed, OpenWrite, Parked, RunResult


def report(result: RunResult[Any], store: str, place: str | None = None) -> int:
    """Print how a drive ended: completed or parked is 0, failed or an open write 1.

    Args:
        result: How it ended.
        store: Where the run is kept.
        place: ``file:line`` of a fault of the workflow.
    """
    if isinstance(result, Completed):
        output.say(render.pretty(result.recorded))
        return 0
    if isinstance(result, Parked):
        output.say(render.parked(result, store))
        return 0
    if isinstance(result, OpenWrite):
        output.say(render.open_write(result, store))
        output.complain(render.open_write_error(result))
        return 1
    if isinstance(result, Abandoned):
        output.complain(render.abandoned(result.run_id, result.reason, result.by))
        return 1
    assert isinstance(result, Failed)
    output.complain(render.failed(result, store, place))
    return 1


def already_over(run_id: str, state: RunState) -> int | None:
    """Say that a run has ended, if it has."""
    if state.status == "completed":
        output.say(f"run {run_id} has completed; nothing is left to do. Its output:")
        output.say(render.pretty(state.output))
        return 0
    if state.status == "abandoned":
        output.complain(render.abandoned(run_id, state.reason, state.by))
        return 1
    if state.status == "failed":
        output.complain(
            render.sentence(f"salvor: run {run_id} has failed: {state.error}")
            + " Nothing is left to do."
        )
        return 1
    return None
