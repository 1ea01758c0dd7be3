"""The table: ``python -m benchmarks engines``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from textwrap import fill
from typing import Final

from benchmarks.engines.catalogue import DISTRIBUTIONS, ENTRIES, OURS, load, present
from benchmarks.peers.catalogue import INSTALL, installed_version

SHAPES: Final = ((1, 200, 15), (16, 20, 9), (128, 16, 7))
"""Runs, calls in each, rounds: fewer calls meet more of the disk's weather."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way of one engine."""

    engine: str
    way: int
    name: str
    says: str


Measure = Callable[[Side, int, int], float]


def report(look: Callable[[str], str | None] = installed_version) -> None:
    """Measure those who are installed, and say who is not.

    Args:
        look: Gives the version of a distribution, if it is installed.
    """
    absent = [one for one in DISTRIBUTIONS if look(one) is None]
    if absent:
        print(f"\nEngines that are not installed: {', '.join(absent)}; {INSTALL} brings them.")
    names = present(look)
    if names == [OURS]:
        return
    told = [f"{one} {look(one)}" for name in names for one in ENTRIES[name].distributions]
    print("\nEngines: " + ", ".join(told))
    sides = sides_of(names)
    for runs, calls, rounds in SHAPES:
        print(
            f"\nDurable calls a second on SQLite, {runs} run{'s' if runs > 1 else ''} of "
            f"{calls:,} calls, beginning and end of the runs included"
        )
        print(*table(rates(sides, runs, calls, rounds)), sep="\n")
    for side in sides:
        print(
            fill(
                f"{side.name}: {side.says}", 100, initial_indent="    ", subsequent_indent="      "
            )
        )


def sides_of(names: Sequence[str]) -> list[Side]:
    """All ways of these engines."""
    return [
        Side(name, number, way.name, way.says)
        for name in names
        for number, way in enumerate(load(name).ways)
    ]


def in_process(side: Side, runs: int, calls: int) -> float:
    """Calls a second, measured by a process of its own."""
    words = [side.engine, str(side.way), str(runs), str(calls)]
    command = [sys.executable, "-m", "benchmarks.engines.once", *words]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return runs * calls / float(found.stdout.split()[-1])


def rates(
    sides: Sequence[Side],
    runs: int,
    calls: int,
    rounds: int,
    measure: Measure = in_process,
) -> Mapping[str, Sequence[float]]:
    """Calls a second of every side, round by round: in each, every side has its turn."""
    turns = [[measure(side, runs, calls) for side in sides] for _ in range(rounds)]
    return {side.name: [turn[place] for turn in turns] for place, side in enumerate(sides)}


def table(found: Mapping[str, Sequence[float]], ours: str = OURS) -> list[str]:
    """The lines to print: medians, and our rate as a ratio to each, by rounds."""
    lines = []
    for name, theirs in found.items():
        line = f"  {name:<28} {median(theirs):8.0f} /s"
        if name != ours:
            ratios = [our / their for our, their in zip(found[ours], theirs, strict=True)]
            line += f"   salvor is {median(ratios):5.2f} x [{min(ratios):.2f}..{max(ratios):.2f}]"
        lines.append(line)
    return lines
