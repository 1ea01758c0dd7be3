"""Whole processes: an import by itself, and an import, a registration and one call."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROUNDS = 7
ROOT = Path(__file__).resolve().parents[2]
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
COUNTED = "\nimport sys\nprint(len(sys.modules))"


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds of a whole process, and how many modules it ends with."""

    millis: float
    modules: int


def started(
    programs: Mapping[str, str],
    *,
    rounds: int = ROUNDS,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Start]:
    """Every program once in each round, after one that is not counted.

    All find their modules compiled, as those of installed packages are: the first process may
    write bytecode, whatever the environment says.
    """
    said = {name: word for name, word in environment.items() if name != _NO_BYTECODE}
    modules = {name: _modules(program, said) for name, program in programs.items()}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            times[name].append(_millis(program, said))
    return {name: Start(statistics.median(times[name]), modules[name]) for name in programs}


def _modules(program: str, environment: Mapping[str, str]) -> int:
    done = subprocess.run(
        [sys.executable, "-c", program + COUNTED],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=True,
    )
    return int(done.stdout.split()[-1])


def _millis(program: str, environment: Mapping[str, str]) -> float:
    begun = perf_counter()
    subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        env=environment,
        check=True,
    )
    return (perf_counter() - begun) * 1000
