"""Which plugins are installed, from metadata alone: nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, EntryPoints, distributions
from pathlib import Path
from typing import Any, Protocol

from salvor.plugins.hooks import GROUP

HOST = "salvor-py"


class EntryPointLike(Protocol):
    """What the loader needs of `importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def dist(self) -> Any: ...
    def load(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One entry point of the group, and the distribution it comes from.

    Attributes:
        entry: The entry point.
        distribution: The normalised name of its distribution.
        version: That distribution's version.
        location: The directory in which it is installed.
        shadowed: What stands before it, as a sentence, when it cannot be loaded.
    """

    entry: EntryPointLike
    distribution: str
    version: str
    location: str
    shadowed: str | None = None

    @property
    def id(self) -> str:
        """Distribution and entry point: no two plugins share it."""
        return f"{self.distribution}:{self.entry.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A distribution in one of the directories that imports look in."""

    name: str
    version: str
    location: str
    source: Distribution


def normalised(name: str) -> str:
    """A distribution's name in the one spelling that compares."""
    return re.sub(r"[-_.]+", "-", name).lower()


def copies(path: Sequence[str] | None = None) -> tuple[Copy, ...]:
    """Every distribution, in the order in which imports find them.

    Args:
        path: The directories to look in; by default those that imports look in.
    """
    found = distributions() if path is None else distributions(path=list(path))
    made: dict[tuple[str, str], Copy] = {}
    for source in found:
        copy = Copy(
            name=_name_of(source),
            version=_version_of(source),
            location=_location_of(source),
            source=source,
        )
        made.setdefault((copy.name, copy.location), copy)
    return tuple(made.values())


def installed(path: Sequence[str] | None = None) -> tuple[Found, ...]:
    """The entry points of the group ``salvor``, sorted; later copies are marked as shadowed.

    Args:
        path: The directories to look in; by default those that imports look in.
    """
    first: dict[str, Copy] = {}
    found: list[Found] = []
    for copy in copies(path):
        winner = first.setdefault(copy.name, copy)
        for entry in _entries(copy.source):
            mark = None if winner is copy else _behind(copy, winner)
            found.append(_found(entry, copy, mark))
    return arranged(found)


def given(entries: Iterable[EntryPointLike]) -> tuple[Found, ...]:
    """The same for entry points that a caller brings."""
    return arranged(
        Found(
            entry=entry,
            distribution=_name_of(entry.dist),
            version=_version_of(entry.dist),
            location=_location_of(entry.dist),
        )
        for entry in entries
    )


def arranged(found: Iterable[Found]) -> tuple[Found, ...]:
    """Sort, drop what is listed twice, and mark a second value under one id as shadowed."""
    kept: dict[tuple[str, str, str], Found] = {}
    loaded: dict[str, Found] = {}
    # What is in front comes first among equals: the sort is stable and puts it there.
    for one in sorted(found, key=_order):
        if (one.id, one.entry.value, one.version) in kept:
            continue
        winner = loaded.get(one.id)
        if one.shadowed is None and winner is not None:
            one = replace(one, shadowed=f"{winner.entry.value} has the same name, and comes first")
        if one.shadowed is None:
            loaded[one.id] = one
        kept[one.id, one.entry.value, one.version] = one
    return tuple(kept.values())


def _order(found: Found) -> tuple[bool, str, str, bool, str]:
    # Ours come first: another plugin that takes one of their names is the one left out.
    return (
        found.distribution != HOST,
        found.distribution,
        found.entry.name,
        found.shadowed is not None,
        found.entry.value,
    )


def _found(entry: EntryPointLike, copy: Copy, shadowed: str | None) -> Found:
    return Found(
        entry=entry,
        distribution=copy.name,
        version=copy.version,
        location=copy.location,
        shadowed=shadowed,
    )


def _behind(copy: Copy, winner: Copy) -> str:
    return f"{winner.version} in {winner.location} stands before {copy.version} in {copy.location}"


def _entries(source: Distribution) -> EntryPoints | tuple[()]:
    # Most distributions have none of ours, and reading the text is a tenth of parsing it.
    text = source.read_text("entry_points.txt")
    if text is None or f"[{GROUP}]" not in text:
        return ()
    return source.entry_points.select(group=GROUP)


def _name_of(distribution: Any) -> str:
    return normalised(str(getattr(distribution, "name", None) or "unknown"))


def _version_of(distribution: Any) -> str:
    return str(getattr(distribution, "version", None) or "unknown")


def _location_of(distribution: Any) -> str:
    locate = getattr(distribution, "locate_file", None)
    return str(Path(str(locate(""))).resolve()) if locate is not None else "unknown"
