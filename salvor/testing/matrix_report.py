"""What a crash matrix says of a promise that was not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from salvor.events.vocabulary import (
    Event,
    RunCompleted,
    RunFailed,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.testing.crash import CrashPoint
from salvor.testing.ledger import Entry
from salvor.testing.matrix_scene import Told
from salvor.values import compact_json

PROMISES: Final = {
    "read": "a read changes nothing, so it may be run again",
    "idempotent": "once more under the same key changes nothing further",
    "write": "a write whose outcome is unknown stops for a person and never runs twice",
    "run": "a run that is killed anywhere goes on where it was, and nothing happens twice",
}
WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A promise that was not kept at one point, and all that was seen there.

    Attributes:
        what: The tool or workflow.
        point: Where it was killed, in words; `None` where it was not.
        problem: What happened.
        promise: What was promised.
        counts: The number of effects at each moment, in order.
        told: How each process ended.
        entries: What the ledger holds.
        log: The run's log.
    """

    what: str
    point: str | None
    problem: str
    promise: str
    counts: Sequence[tuple[str, int]]
    told: Sequence[Told]
    entries: Sequence[Entry]
    log: Sequence[Event]

    def __str__(self) -> str:
        where = "without a crash" if self.point is None else f"killed {self.point}"
        seen = ", ".join(f"{count} {moment}" for moment, count in self.counts)
        return "\n".join(
            [
                f"{self.what}, {where}: {self.problem}",
                f"  promised: {self.promise}",
                f"  effects: {seen}",
                "  the run: " + " -> ".join(map(str, self.told)),
                *_listed("ledger", [str(entry) for entry in self.entries]),
                *_listed("log", shown(self.log)),
            ]
        )


class PointFailed(AssertionError):
    """A promise was not kept; ``finding`` says all that was seen."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def named(point: CrashPoint, log: Sequence[Event]) -> str:
    """A point in words: with the kind of its event, or the tool of its body."""
    what, _, number = point.place.partition(" ")
    if what == "event" and number.isdigit():
        return f"{point} ({log[int(number)].kind})"
    if what == "body" and number.isdigit():
        event = log[int(number)]
        tool = event.tool if isinstance(event, ToolCallRequested) else event.kind
        return f"{point.when} the body of {tool} (event {number})"
    return str(point)


def shown(log: Sequence[Event]) -> list[str]:
    """A log in lines: position, kind, and what a call was or gave."""
    lines = []
    for seq, event in enumerate(log):
        line = f"{seq} {event.kind}"
        if isinstance(event, ToolCallRequested):
            line += f" {event.tool} ({event.effect}) {compact_json(event.input)}"
        elif isinstance(event, ToolCallCompleted):
            line += f" {event.outcome or 'output'} {compact_json(event.output)}"
        elif isinstance(event, RunCompleted):
            line += f" {compact_json(event.output)}"
        elif isinstance(event, RunFailed):
            line += f" {event.error}"
        lines.append(line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}...")
    return lines


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {title}:", *(f"    {line}" for line in lines)] if lines else []
