"""One point of a crash matrix: kill the run there, resume it, and see what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from salvor.events.vocabulary import Event, ToolCallCompleted, ToolCallRequested
from salvor.testing.crash import CrashPoint, When
from salvor.testing.matrix_report import PROMISES, Finding, PointFailed, named
from salvor.testing.matrix_scene import Effects, Scene, Told
from salvor.tools.decorator import tool_meta
from salvor.values import JsonObject, JsonValue

AROUND: Final[tuple[When, ...]] = ("before", "after")
THROUGH: Final[tuple[When, ...]] = ("before", "during", "after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is tested, and how its effects are counted."""

    function: Any
    input: JsonObject
    answers: Sequence[JsonValue]
    effects: Effects | None
    times: int | None

    @property
    def effect(self) -> str:
        """The effect that a tool declares; ``run`` for a workflow."""
        meta = tool_meta(self.function)
        return "run" if meta is None else meta.effect

    @property
    def title(self) -> str:
        """Name and effect."""
        name = self.function.__name__
        return f"the workflow {name}" if self.effect == "run" else f"{name} ({self.effect})"

    @property
    def expected(self) -> int | None:
        """How many effects it has, `None` where that is to be seen."""
        if self.times is not None or self.effect == "run":
            return self.times
        return 0 if self.effect == "read" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncrashed:
    """The run as it goes when nobody kills it.

    ``before`` is filled in on the way: how many effects there are when the intent at a
    position is durable and its body has not begun.
    """

    told: Told
    log: Sequence[Event]
    effects: int
    entries: int
    bodies: Sequence[int]
    before: dict[int, int] = field(default_factory=dict)

    def points(self, places: Sequence[str]) -> list[CrashPoint]:
        """Every boundary; those around events first, in order."""
        seen = [f"entry {number}" for number in range(1, self.entries + 1)]
        return [
            *(CrashPoint.event(seq, when) for seq in range(len(self.log)) for when in AROUND),
            *(CrashPoint(f"body {seq}", when) for seq in self.bodies for when in AROUND),
            *(CrashPoint(place, when) for place in (*seen, *places) for when in THROUGH),
        ]


class Trial:
    """What is seen of one scene, and what is wrong with it."""

    def __init__(self, subject: Subject, scene: Scene, point: str | None) -> None:
        self._subject = subject
        self._point = point
        self._counts: list[tuple[str, int]] = []
        self.scene = scene

    def count(self, moment: str) -> int:
        """Count the effects now."""
        count = self.scene.count()
        self._counts.append((moment, count))
        return count

    def fail(self, problem: str) -> NoReturn:
        """Say what is wrong.

        Raises:
            PointFailed: always.
        """
        finding = Finding(
            what=self._subject.title,
            point=self._point,
            problem=problem,
            promise=PROMISES[self._subject.effect],
            counts=tuple(self._counts),
            told=tuple(self.scene.told),
            entries=tuple(self.scene.entries()),
            log=tuple(self.scene.log()),
        )
        raise PointFailed(finding)

    def check_reads(self, log: Sequence[Event]) -> None:
        """Fail if a call that is recorded as a read made an entry in the ledger."""
        for entry in self.scene.entries():
            event = log[entry.position] if entry.position is not None else None
            if isinstance(event, ToolCallRequested) and event.effect == "read":
                self.fail(f"{event.tool} declares read, and made an entry in the ledger: {entry}.")


def go_through(subject: Subject, scene: Scene) -> Uncrashed:
    """Let the run go to its end, and see whether that is what is promised.

    Raises:
        PointFailed: it is not.
    """
    trial = Trial(subject, scene, None)
    told = scene.to_rest(watched=True)
    log, count = scene.log(), trial.count("in the end")
    if told.kind != "Completed" and not told.facts.get("final"):
        trial.fail("the run does not get to its end.")
    trial.check_reads(log)
    changed = [str(one) for found in scene.told for one in found.listed("changed")]
    if changed:
        trial.fail(f"a read changed something outside, it {', '.join(changed)}.")
    expected = subject.expected
    if expected is not None and count != expected:
        trial.fail(_miscounted(count, expected))
    seen = {one for found in scene.told for one in found.listed("bodies")}
    return Uncrashed(
        told=told,
        log=log,
        effects=count,
        entries=len(scene.entries()),
        bodies=[seq for seq in range(len(log)) if seq in seen],
    )


def try_point(subject: Subject, uncrashed: Uncrashed, point: CrashPoint, scene: Scene) -> None:
    """Kill the run at a point, resume it as a person would, and compare.

    Raises:
        PointFailed: a promise is not kept.
    """
    trial = Trial(subject, scene, named(point, uncrashed.log))
    if not scene.to_rest(str(point)).killed:
        trial.fail("it never came there: the run goes another way than the time before.")
    killed = trial.count("when it was killed")
    if point.place.startswith("event ") and point.when == "after":
        uncrashed.before[int(point.place.removeprefix("event "))] = killed
    recorded = scene.texts()
    ended = scene.to_rest()
    resumed = trial.count("after it was resumed")
    if scene.texts()[: len(recorded)] != recorded:
        trial.fail("what had been recorded before the crash is another.")
    if ended.kind == "OpenWrite":
        if resumed != killed:
            trial.fail(f"{ended.facts['tool']} had effects after it stopped for a person.")
        ended = _reconciled(trial, uncrashed, int(str(ended.facts["seq"])), resumed)
    trial.check_reads(scene.log())
    _compare(trial, uncrashed, ended)


def _reconciled(trial: Trial, uncrashed: Uncrashed, seq: int, count: int) -> Told:
    """Resume a run that waits for a person, which changes nothing; then be that person."""
    scene = trial.scene
    before = scene.texts()
    again = scene.to_rest()
    if again.kind != "OpenWrite" or trial.count("after once more") != count:
        trial.fail("a write that nobody had resolved was run again.")
    if scene.texts() != before:
        trial.fail("the log of a run that waits for a person went on.")
    happened = count > uncrashed.before[seq]
    scene.resolve(_word(uncrashed.log[seq + 1], happened=happened))
    ended = scene.to_rest()
    trial.count(f"after a person said that it {'happened' if happened else 'never happened'}")
    return ended


def _word(completion: Event, *, happened: bool) -> JsonObject:
    """What a person says of an open write, who looks for the effect and knows its output."""
    if not happened or not isinstance(completion, ToolCallCompleted):
        return {"what": "not done"}
    if completion.outcome is None:
        return {"what": "output", "output": completion.output}
    return {"what": "failed", "message": "it happened, and failed"}


def _compare(trial: Trial, uncrashed: Uncrashed, ended: Told) -> None:
    count = trial.scene.count()
    if ended.kind != uncrashed.told.kind:
        trial.fail(f"in the end it is {ended}; without a crash it is {uncrashed.told}.")
    if count > uncrashed.effects:
        trial.fail(
            f"it happened twice: {_effects(count)}, without a crash {_effects(uncrashed.effects)}."
        )
    if count < uncrashed.effects:
        trial.fail(f"it is lost: {_effects(count)}, without a crash {_effects(uncrashed.effects)}.")


def _miscounted(count: int, expected: int) -> str:
    if count == 0:
        return (
            "no effect was seen. Make an entry in Ledger.here() where the effect is, or give "
            "effects=, a function that counts them (times=0 if there is none)."
        )
    return f"it had {_effects(count)}, expected was {expected} (times= says another number)."


def _effects(count: int) -> str:
    return "1 effect" if count == 1 else f"{count} effects"
