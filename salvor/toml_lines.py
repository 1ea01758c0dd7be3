"""At which line of a TOML text each key stands, as far as it can be told."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]

_header = re.compile(r"\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?").fullmatch
_key = re.compile(r"\s*([^=#\[\]]+?)\s*=").match
_quotes = re.compile(r'"""|' + "'''")


def lines_of(text: str) -> dict[Path, int]:
    """By key, the first line that names it, counted from 1.

    A table of a list, ``[[name]]``, has its number in its path: ``("name", "0")``.
    """
    found: dict[Path, int] = {}
    table: Path | None = ()
    counted: dict[Path, int] = {}
    inside: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        before, inside = inside, _still_inside(line, inside)
        if before is not None:
            continue
        header = _header(line)
        if header is not None:
            table = _path(f"[{header[1]}]")
            if table is not None and line.lstrip().startswith("[["):
                counted[table] = counted.get(table, -1) + 1
                table = (*table, str(counted[table]))
            _note(found, table, number)
        key = _key(line) if header is None and table is not None else None
        if key is not None:
            held = _path(f"{key[1]} = 0")
            _note(found, None if held is None else (*(table or ()), *held), number)
    return found


def place_of(lines: Mapping[Path, int], path: Path) -> int | None:
    """The line of a key, or of the innermost table around it that has one."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _note(found: dict[Path, int], path: Path | None, number: int) -> None:
    for length in range(1, len(path or ()) + 1):
        found.setdefault((path or ())[:length], number)


def _path(text: str) -> Path | None:
    try:
        held: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(held, dict) and held:
        [(step, held)] = held.items()
        path.append(step)
    return tuple(path)


def _still_inside(line: str, inside: str | None) -> str | None:
    """The quotes of a text over several lines that is open after this line."""
    for quotes in _quotes.findall(line):
        if inside is None:
            inside = quotes
        elif inside == quotes:
            inside = None
    return inside
