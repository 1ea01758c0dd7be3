"""What is wrong with an installation, found out without changing it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from salvor.plugins.discovery import HOST, Copy, Found
from salvor.plugins.loader import Plugins
from salvor.plugins.requirements import unmet
from salvor.version import __version__

FOREIGN = "salvor"
SLOW_SECONDS = 1.0

Level: TypeAlias = Literal["ok", "warning", "error"]
Allowed: TypeAlias = Callable[[Path, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        level: Whether it is in order.
        subject: What was looked at.
        message: What was found, and what to do about it.
    """

    level: Level
    subject: str
    message: str


def about_salvor(copies: Sequence[Copy]) -> list[Finding]:
    """Which salvor this is, and whether another project sits on its package."""
    own = [copy for copy in copies if copy.name == HOST]
    said = f"{__version__} on Python {platform.python_version()}"
    findings = [Finding(level="ok", subject=HOST, message=said)]
    if not own:
        findings[0] = Finding(
            level="warning",
            subject=HOST,
            message=f"{said}; it is not installed, so its own plugin is not found.",
        )
    findings += [
        Finding(
            level="error",
            subject=copy.name,
            message=f"the distribution {copy.name} {copy.version} in {copy.location} is another "
            f"project with the same package. Uninstall both, then install {HOST} alone.",
        )
        for copy in copies
        if copy.name == FOREIGN
    ]
    return findings


def about_distributions(copies: Sequence[Copy], found: Iterable[Found]) -> list[Finding]:
    """What salvor and the plugins require and do not get; which of them are there twice."""
    versions: dict[str, str] = {}
    for copy in copies:
        versions.setdefault(copy.name, copy.version)
    names = {HOST, *(one.distribution for one in found)}
    findings: list[Finding] = []
    first: dict[str, Copy] = {}
    for copy in sorted((copy for copy in copies if copy.name in names), key=lambda one: one.name):
        winner = first.setdefault(copy.name, copy)
        if winner is not copy:
            findings.append(_twice(winner, copy))
            continue
        findings += [
            Finding(level="error", subject=copy.name, message=f"{copy.version} {missing}.")
            for missing in unmet(tuple(copy.source.requires or ()), versions)
        ]
    return findings


def _twice(winner: Copy, copy: Copy) -> Finding:
    return Finding(
        level="warning",
        subject=copy.name,
        message=f"it is installed twice: {winner.version} in {winner.location} stands before "
        f"{copy.version} in {copy.location}. Uninstall one of them.",
    )


def about_plugins(plugins: Plugins, *, slow: float = SLOW_SECONDS) -> list[Finding]:
    """How each plugin loaded."""
    findings: list[Finding] = []
    for report in plugins:
        subject = f"{report.distribution} ({report.entry_point})"
        level: Level = "ok"
        message = f"{report.version} loaded, tools: {len(report.tools)}"
        if report.error is not None:
            level, message = "error", f"{report.version} failed: {report.error}"
        elif report.status == "shadowed":
            level, message = "warning", f"it is shadowed: {report.note}."
        elif report.status == "unconfigured":
            level, message = "warning", f"{report.version} is idle: {report.note}"
        elif report.status == "blocked":
            message = f"{report.version} is blocked: {report.note}"
        elif report.seconds > slow:
            level, message = "warning", f"{message}; it took {report.seconds:.1f} s to load"
        findings.append(Finding(level=level, subject=subject, message=message))
    findings += [
        Finding(level="warning", subject="plugins", message=warning) for warning in plugins.warnings
    ]
    return findings


def about_store(store: str, *, allowed: Allowed = os.access) -> Finding:
    """Whether runs can be kept where they are to be kept; nothing is created.

    Args:
        store: A path or a URL.
        allowed: Whether this user may use a path in a way, as `os.access` tells.
    """
    path = store.removeprefix("sqlite:///")
    if store == "memory:":
        return Finding(level="ok", subject="store", message="in memory; gone with the process")
    if "://" in path:
        return Finding(level="ok", subject="store", message=f"{_place(path)}; not looked into")
    fault = _fault_of(Path(path), allowed)
    if fault is not None:
        return Finding(level="error", subject="store", message=f"{path}: {fault}")
    state = "can be written" if Path(path).exists() else "is made by the first run"
    return Finding(level="ok", subject="store", message=f"{path} {state}")


def _place(url: str) -> str:
    """A URL without what may be a password."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2].split('?')[0]}"


def _fault_of(path: Path, allowed: Allowed) -> str | None:
    directory = path.resolve().parent
    if not directory.is_dir():
        return f"there is no directory {directory}. Make it, or name another store."
    if path.is_dir():
        return "that is a directory. Name a file."
    if not allowed(directory, os.W_OK | os.X_OK):
        # SQLite keeps its journal beside the file.
        return f"the directory {directory} cannot be written by this user."
    if path.exists() and not allowed(path, os.R_OK | os.W_OK):
        return "it cannot be read and written by this user."
    return None
