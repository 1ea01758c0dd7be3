"""One scene of a crash matrix: a fresh store, a fresh ledger, and processes that act on them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from salvor.events.codec import decode
from salvor.events.vocabulary import Event
from salvor.testing.ledger import VARIABLE, Entry, Ledger
from salvor.testing.matrix_child import RUN
from salvor.values import JsonObject, JsonValue

Effects = Callable[[Path], int]
"""Counts effects, given the directory that the processes of a scene work in."""


class CannotTest(Exception):
    """The crash matrix cannot test this."""


class Loaded:
    """A process that has loaded the code, and makes copies of itself that run it.

    Args:
        function: The tool or workflow.
        env: Variables for it, beside this process's own.
    """

    def __init__(self, function: Any, env: Mapping[str, str]) -> None:
        place = json.dumps(_place(function))
        found = [os.path.abspath(place) for place in sys.path if place]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "salvor.testing.matrix_child"],
            env={
                **os.environ,
                **env,
                "PYTHONPATH": os.pathsep.join([os.getcwd(), *found]),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._order(place)

    def carry_out(self, order: JsonObject) -> int:
        """Have an order carried out by a copy; how that process ended, as `os.wait` has it."""
        return int(self._order(json.dumps(order)))

    def _order(self, line: str) -> str:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it says why below
        answer = process.stdout.readline()
        if not answer:
            raise CannotTest(f"the process of the tests ended:\n{process.communicate()[1]}")
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()


def _place(function: Any) -> tuple[str, str, str]:
    name = getattr(function, "__qualname__", repr(function))
    module = sys.modules.get(getattr(function, "__module__", ""))
    file = getattr(module, "__file__", None)
    if module is None or file is None or "<locals>" in name or "<lambda>" in name:
        raise CannotTest(
            f"{name} cannot be found by another process: give a function of a module's top level."
        )
    return module.__name__, os.path.abspath(file), name


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a process told of the run before it ended; a killed one tells nothing."""

    kind: str
    facts: JsonObject = field(default_factory=dict)

    @property
    def killed(self) -> bool:
        """Whether it died by SIGKILL."""
        return self.kind == "killed"

    def listed(self, name: str) -> list[JsonValue]:
        """A fact that is a list; empty where nothing was told."""
        found = self.facts.get(name)
        return found if isinstance(found, list) else []

    def __str__(self) -> str:
        words = {"killed": "killed", "look": "looked at", "resolved": "resolved"}
        more = self.facts.get("error") or self.facts.get("reason")
        return words.get(self.kind, self.kind) + (f" ({more})" if more else "")


class Scene:
    """A run of its own, with a directory, a store and a ledger of its own.

    Args:
        loaded: Makes the processes.
        folder: Where all of it is kept; made here.
        input: The arguments.
        answers: What the run is told at its parks, in order; approvals are given.
        effects: Counts effects; by default the entries of the ledger are.
    """

    def __init__(
        self,
        loaded: Loaded,
        folder: Path,
        *,
        input: JsonObject,
        answers: Sequence[JsonValue] = (),
        effects: Effects | None = None,
    ) -> None:
        self._loaded = loaded
        self._input = input
        self._answers = answers
        self._effects = effects
        self._own = folder / "salvor-"
        self._ahead = 0.0
        self.here = folder / "here"
        self.here.mkdir(parents=True)
        self.told: list[Told] = []

    def count(self) -> int:
        """How many effects there are by now."""
        return len(self.entries()) if self._effects is None else self._effects(self.here)

    def entries(self) -> list[Entry]:
        """The entries of the ledger."""
        return Ledger(Path(f"{self._own}ledger")).entries()

    def to_rest(self, crash: str = "", *, watched: bool = False) -> Told:
        """Drive the run until it ends, dies, or waits for more than the answers given.

        Args:
            crash: Where the process dies, if it gets there.
            watched: Whether what reads touch is noted.
        """
        told = self._drive(crash, watched)
        while told.kind == "Parked" and not told.killed:
            told = self._drive(crash, watched, answer=self._answer(told))
        return told

    def resolve(self, say: JsonObject) -> Told:
        """Say what the open write did."""
        return self._do("resolve", say=say)

    def log(self) -> list[Event]:
        """The run's log as it is stored."""
        return [decode(text, run_id=RUN, seq=seq).event for seq, text in enumerate(self.texts())]

    def texts(self) -> list[str]:
        """The same, as text."""
        if not self.told or self.told[-1].killed:
            return [str(text) for text in self._do("look", noted=False).listed("log")]
        return [str(text) for text in self.told[-1].listed("log")]

    def _drive(self, crash: str, watched: bool, *, answer: Sequence[JsonValue] = ()) -> Told:
        return self._do("drive", crash=crash, watched=watched, answer=list(answer))

    def _answer(self, told: Told) -> Sequence[JsonValue]:
        """What a parked run is told; a sleep is over by moving the clock."""
        facts = told.facts
        if facts["approval"]:
            return [{"approved": True}]
        if facts["wake_at"] is not None:
            wait = datetime.fromisoformat(str(facts["wake_at"])) - datetime.now(UTC)
            self._ahead = max(self._ahead, wait.total_seconds() + 1)
            return ()
        number = facts["number"]
        assert isinstance(number, int)
        if facts["signal"] is not None or number >= len(self._answers):
            raise CannotTest(
                f"the run waits ({facts['reason']}), and there is no answer {number + 1}: "
                "give answers=[...], one for each park."
            )
        return [self._answers[number]]

    def _do(self, do: str, *, noted: bool = True, **more: Any) -> Told:
        order = {
            "do": do,
            "folder": str(self.here),
            "own": str(self._own),
            "store": f"{self._own}store.db",
            "env": {VARIABLE: f"{self._own}ledger"},
            "told": f"{self._own}told",
            "errors": f"{self._own}errors",
            "ahead": self._ahead,
            "input": self._input,
            "crash": "",
            "watched": False,
            "answer": [],
            **more,
        }
        told = self._read(self._loaded.carry_out(order))
        if noted:
            self.told.append(told)
        return told

    def _read(self, status: int) -> Told:
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return Told(kind="killed")
        if status != 0:
            raise CannotTest(f"a process of the run failed:\n{self._said('errors')}")
        facts = json.loads(self._said("told"))
        return Told(kind=facts["kind"], facts=facts)

    def _said(self, name: str) -> str:
        return Path(f"{self._own}{name}").read_text("utf-8", errors="replace")
