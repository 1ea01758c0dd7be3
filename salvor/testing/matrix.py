"""The crash matrix: a tool or workflow, killed at every boundary, keeps its promise or is named.

At each point a real process is killed with SIGKILL, and the run is resumed as a person would
resume it. What is counted are effects: by a `Ledger`, or by a function of the author's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from salvor.runtime.workflow import workflow_meta
from salvor.testing.matrix_point import Subject, Uncrashed, go_through, try_point
from salvor.testing.matrix_report import named
from salvor.testing.matrix_scene import CannotTest, Effects, Loaded, Scene
from salvor.tools.decorator import tool_meta
from salvor.values import JsonValue, as_json, canonical_json, parse_object

Each = Callable[[str], AbstractContextManager[Any]]


class CrashMatrix:
    """Kills a tool or a workflow at every boundary, and checks what it promises.

    Args:
        folder: Where stores and ledgers are kept.
        each: What stands around the test of each point, such as a sub-test of pytest; by
            default the first point that fails ends the matrix.
    """

    def __init__(self, folder: Path, *, each: Each | None = None) -> None:
        self._folder = folder
        self._each: Each = each or (lambda _: nullcontext())

    def __call__(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any] | None = None,
        *,
        effects: Effects | None = None,
        times: int | None = None,
        answers: Sequence[JsonValue] = (),
        places: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Sequence[str]:
        """Run the matrix.

        Args:
            function: A tool or a workflow, at the top level of a module.
            arguments: Its arguments, as a JSON object.
            effects: Counts the effects of a scene, given the directory its processes work in;
                by default the entries of `Ledger.here()` are counted.
            times: How many effects one call has; by default 0 for a read and 1 otherwise, and
                for a workflow what it has when nobody kills it.
            answers: What a workflow is told at its parks, in order. Approvals are given.
            places: Names that the code gives to `crash_here`, with ``before``, ``during`` and
                ``after``.
            env: Variables for the processes.

        Returns:
            The points, in words.

        Raises:
            PointFailed: a promise is not kept.
            CannotTest: it cannot be tested like this.
        """
        if tool_meta(function) is None and workflow_meta(function) is None:
            raise CannotTest(f"{function!r} is neither a tool nor a workflow.")
        text = canonical_json(as_json(dict(arguments or {}), what="the arguments"))
        subject = Subject(
            function=function,
            input=parse_object(text, what="the arguments"),
            answers=answers,
            effects=effects,
            times=times,
        )
        folder = Path(tempfile.mkdtemp(prefix="matrix-", dir=self._folder))
        with Loaded(function, env or {}) as loaded:
            return self._run(subject, places, lambda name: _scene(subject, loaded, folder / name))

    def _run(
        self, subject: Subject, places: Sequence[str], scene: Callable[[str], Scene]
    ) -> Sequence[str]:
        found: list[Uncrashed] = []
        with self._each("without a crash"):
            found.append(go_through(subject, scene("0")))
        done = []
        for uncrashed in found:  # none, where its failure is one of several to be reported
            for number, point in enumerate(uncrashed.points(places), 1):
                name = named(point, uncrashed.log)
                with self._each(name):
                    try_point(subject, uncrashed, point, scene(str(number)))
                done.append(name)
        return done


def _scene(subject: Subject, loaded: Loaded, folder: Path) -> Scene:
    return Scene(
        loaded, folder, input=subject.input, answers=subject.answers, effects=subject.effects
    )
