"""Saying what an open write did (DURABILITY F)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from salvor.errors import Extent
from salvor.events.vocabulary import (
    ToolCallCompleted,
    ToolCallRequested,
    failure_output,
)
from salvor.events.words import EXTENTS, known
from salvor.run_errors import NotDoneRefused
from salvor.runtime.words import check_words
from salvor.values import JsonValue


@dataclass(frozen=True, slots=True)
class ResolvedOutput:
    """It happened, and this is its output."""

    output: JsonValue


@dataclass(frozen=True, slots=True)
class ResolvedFailure:
    """It failed; ``extent`` says what it did all the same."""

    extent: Extent
    message: str = "the call failed"


@dataclass(frozen=True, slots=True)
class NotDone:
    """It never happened, and nobody is left who could still do it.

    ``worker_dead`` is the operator's explicit word for the latter (DURABILITY F2).
    """

    worker_dead: bool


Resolution: TypeAlias = ResolvedOutput | ResolvedFailure | NotDone


def resolved(
    intent: ToolCallRequested, resolution: Resolution, *, overdue: bool
) -> tuple[ToolCallCompleted, Extent | None]:
    """The completion an operator's word becomes, and its extent for the claim.

    Args:
        intent: The open write.
        resolution: The word.
        overdue: Whether the tool has a time limit and it has passed since the intent.

    Raises:
        NotDoneRefused: the word that the worker is dead is missing.
    """
    if isinstance(resolution, ResolvedOutput):
        return (
            ToolCallCompleted(seq=intent.seq, output=resolution.output, settled_by="operator"),
            None,
        )
    if isinstance(resolution, ResolvedFailure):
        check_words(message=resolution.message)
        known(resolution.extent, EXTENTS, "what it did")
        extent, kind, outcome = resolution.extent, "handler", "error"
        message = resolution.message
    else:
        refuse_unless_dead(intent.tool, resolution.worker_dead or overdue)
        extent, kind, outcome = "no", "not_executed", "not_executed"
        message = "it never happened"
    completion = ToolCallCompleted(
        seq=intent.seq,
        output=failure_output(kind=kind, message=message, attempts=1),
        settled_by="operator",
        outcome="error" if outcome == "error" else "not_executed",
        extent=extent,
    )
    return completion, extent


def refuse_unless_dead(tool: str, dead: bool, why: str = "no time limit of it has passed") -> None:
    """Refuse "nothing happened" while somebody may still do it (DURABILITY F2).

    Raises:
        NotDoneRefused: no time limit has passed, and nobody gave their word.
    """
    if not dead:
        raise worker_may_live(tool, why)


def worker_may_live(tool: str, why: str) -> NotDoneRefused:
    """The refusal of "nothing happened", which takes the word that the worker is dead."""
    return NotDoneRefused(
        f"the worker of {tool} may still be at it: {why}.",
        hint="Make sure that it is dead, and that nothing it started or sent goes on; "
        "then say so with --worker-dead.",
    )
