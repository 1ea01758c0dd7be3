"""Killing or freezing a run's process for real, at a chosen point, and looking at what is left.

A `CrashPoint` names the point: before or after an event becomes durable, before a run's lease
is given back, or before, during or after a tool's effect (where the tool says `crash_here`).
The child process kills itself with SIGKILL there: no handler runs, nothing is flushed. Or it
stops itself with SIGSTOP, until somebody lets it go on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from salvor.events.records import Append, Fence, Row, Settlement, Stands
from salvor.events.store import Store
from salvor.values import JsonObject, JsonValue

When = Literal["before", "during", "after"]

VARIABLE = "SALVOR_CRASH_AT"
FREEZING = "SALVOR_FREEZE_AT"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """Where the child dies: ``place`` is ``event N`` or the name of an effect."""

    place: str
    when: When

    @classmethod
    def event(cls, seq: int, when: When) -> CrashPoint:
        """Before event ``seq`` is submitted, or right after it is durable."""
        return cls(f"event {seq}", when)

    @classmethod
    def release(cls) -> CrashPoint:
        """Before the lease of a run is given back."""
        return cls("release", "before")

    def __str__(self) -> str:
        return f"{self.when} {self.place}"


def crash_here(place: str, when: When) -> None:
    """Kill, or freeze, this process if it was started to die or to stop at this point."""
    here = str(CrashPoint(place, when))
    if os.environ.get(VARIABLE) == here:
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get(FREEZING) == here:
        os.kill(os.getpid(), signal.SIGSTOP)


class CrashingStore:
    """A store whose process may die around a write to a log; the rest is the store's own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def append(self, append: Append) -> Stands | None:
        """Append, with a crash point before and after each event."""
        _crash_at(append.rows, "before")
        seen = await self._store.append(append)
        if seen is None:
            _crash_at(append.rows, "after")
        return seen

    async def settle(self, settlement: Settlement) -> None:
        """Settle, with the same crash points."""
        _crash_at(settlement.rows, "before")
        await self._store.settle(settlement)
        _crash_at(settlement.rows, "after")

    async def release(
        self, fence: Fence, *, cause: str | None = None, blameless: bool = False
    ) -> None:
        """Give a lease back, with a crash point before."""
        crash_here("release", "before")
        await self._store.release(fence, cause=cause, blameless=blameless)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _crash_at(rows: Sequence[Row], when: When) -> None:
    for row in rows:
        crash_here(f"event {row.seq}", when)


def crashing(store: Store) -> Store:
    """The store with crash points around its appends."""
    return cast("Store", CrashingStore(store))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child ended: killed, or with what its drive gave back.

    ``result`` has the result's class name as ``kind``, and its fields.
    """

    killed: bool
    result: JsonObject

    @property
    def kind(self) -> str:
        """The class name of the result, e.g. ``Completed``; an error's is ``error``."""
        return str(self.result.get("kind", "killed"))


class CrashRun:
    """One run in one store, driven by child processes that can be killed.

    Args:
        store: Path of the SQLite file.
        target: The workflow, as ``file.py:NAME`` or ``MODULE:NAME``.
        run_id: Which run.
        input: Its input.
        env: Variables for the children, beside this process's own.
        options: Seconds for ``lease`` and ``claim_wait``, where the defaults are too long.
    """

    def __init__(
        self,
        store: Path,
        target: str,
        run_id: str,
        input: JsonObject,
        *,
        env: dict[str, str] | None = None,
        options: dict[str, float] | None = None,
    ) -> None:
        self._store = store
        self._target = target
        self._run_id = run_id
        self._input = input
        self._env = env or {}
        self._options = options or {}

    def drive(self, crash: CrashPoint | None = None, *, answer: Sequence[JsonValue] = ()) -> Ended:
        """Start or resume the run in a child, which may die at a point.

        Args:
            crash: Where the child dies, if it gets there.
            answer: One value answers the park that the run is at.
        """
        return ended(self.start(crash, answer=answer))

    def start(
        self,
        crash: CrashPoint | None = None,
        *,
        freeze: CrashPoint | None = None,
        answer: Sequence[JsonValue] = (),
        gate: int = -1,
    ) -> subprocess.Popen[str]:
        """The same in a child that is not waited for; `ended` waits.

        Args:
            crash: Where the child dies, if it gets there.
            freeze: Where it stops; `frozen` waits for that, `thaw` lets it go on.
            answer: One value answers the park that the run is at.
            gate: A pipe's read end: the child begins when the pipe is closed.
        """
        order = {
            "store": str(self._store),
            "target": self._target,
            "run_id": self._run_id,
            "input": self._input,
            "answer": list(answer),
            "options": self._options,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "salvor.testing.child", json.dumps(order)],
            env={
                **os.environ,
                **self._env,
                VARIABLE: str(crash) if crash else "",
                FREEZING: str(freeze) if freeze else "",
            },
            stdin=subprocess.DEVNULL if gate < 0 else gate,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def frozen(child: subprocess.Popen[str]) -> None:
    """Wait until a child stands still."""
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        raise RuntimeError(f"the child ended and did not freeze ({status})")


def thaw(child: subprocess.Popen[str]) -> None:
    """Let a frozen child go on."""
    os.kill(child.pid, signal.SIGCONT)


def ended(child: subprocess.Popen[str]) -> Ended:
    """Wait for a child and read how it ended."""
    out, err = child.communicate()
    if child.returncode == -signal.SIGKILL:
        return Ended(killed=True, result={})
    if child.returncode != 0:
        raise RuntimeError(f"the child failed ({child.returncode}):\n{err}")
    return Ended(killed=False, result=json.loads(out))
