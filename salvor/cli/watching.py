"""Calling a tool in a process of its own that is watched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from salvor.cli.options import config_asked, strict_asked
from salvor.testing.touches import Touch, wrote
from salvor.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What came of a watched call.

    Attributes:
        touches: What it touched, and whether that was left changed.
        failure: Why it gave no output; `None` when it did.
    """

    touches: tuple[tuple[Touch, bool], ...]
    failure: str | None


def call_watched(
    target: str, name: str, arguments: JsonObject, *, seconds: float | None = None
) -> Watched:
    """Call a tool once in a child process, and see what it touches.

    Args:
        target: What the person named: an installed tool, a module or a file.
        name: Which tool there.
        arguments: What it is called with.
        seconds: How long it may take; then it is killed with all it started.
    """
    order = json.dumps({"target": target, "name": name, "arguments": arguments})
    child = subprocess.Popen(
        [sys.executable, "-m", "salvor.cli.watched"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(),
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = child.communicate(order, timeout=seconds)
        ending = _ending(child.returncode)
    except subprocess.TimeoutExpired:
        _kill(child)
        told, _ = child.communicate()
        ending = f"it was not done after {seconds:g} s and was killed"
    finally:
        if child.poll() is None:
            _kill(child)
    return _read(told.splitlines(), ending)


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    config, strict = config_asked(), strict_asked()
    if config is not None:
        environment["SALVOR_CONFIG"] = config
    if strict is not None:
        environment["SALVOR_STRICT_PLUGINS"] = "1" if strict else "0"
    return environment


def _kill(child: subprocess.Popen[str]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        child.kill()


def _ending(code: int) -> str:
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"it ended its process with exit code {code}"


def _read(lines: Iterable[str], ending: str) -> Watched:
    touches: list[Touch] = []
    failure: str | None = ending
    for line in lines:
        told: dict[str, Any] = json.loads(line)
        if "touch" in told:
            touches.append(_touch(told["touch"]))
        else:
            failure = told.get("failed")
    return Watched(touches=tuple(wrote(touches)), failure=failure)


def _touch(told: dict[str, Any]) -> Touch:
    paths = [(path, None if state is None else tuple(state)) for path, state in told["paths"]]
    return Touch(**{**told, "paths": tuple(paths)})
