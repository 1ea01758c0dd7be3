"""The tools that look."""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel

from salvor import ToolFailure, tool
from salvor_files.confined import DIRECTORY, TEMPORARY, Place, Root, refused, untouched
from salvor_files.settings import Settings

MAX_LINE = 500
MAX_DEPTH = 64
MAX_TEXT = 1024 * 1024


class FilePart(BaseModel):
    """Some of a file's text; ``next_offset`` is where the rest begins, if there is any."""

    text: str
    offset: int
    next_offset: int | None
    size: int


class Entry(BaseModel):
    """One entry of a directory."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int


class Listing(BaseModel):
    """Entries in the order of their paths; ``complete`` is false when there are more."""

    entries: list[Entry]
    complete: bool


class Match(BaseModel):
    """One line that holds the text, cut at 500 characters; lines count from 1."""

    path: str
    line: int
    text: str


class Matches(BaseModel):
    """Lines found; ``skipped`` names files that are too large, not text, or not readable."""

    matches: list[Match]
    skipped: list[str]
    complete: bool


@dataclass
class _Budget:
    """What one call may look at, read and give back; `complete` until something runs out."""

    entries: int
    data: int
    results: int
    text: int = MAX_TEXT
    complete: bool = True

    def look(self) -> bool:
        """Whether one more entry may be looked at."""
        self.entries -= 1
        return self._within(self.entries)

    def read(self, size: int) -> bool:
        """Whether so many more bytes may be read."""
        self.data -= size
        return self._within(self.data)

    def give(self, text: str) -> bool:
        """Whether one more result may be given back."""
        self.results -= 1
        self.text -= len(text)
        return self._within(min(self.results, self.text))

    def _within(self, left: int) -> bool:
        self.complete = self.complete and left >= 0
        return left >= 0


class Reading:
    """Tools that read below the root."""

    def __init__(self, root: Root, settings: Settings) -> None:
        self._root = root
        self._settings = settings

    @tool(effect="read", tags=["files"])
    def read_file(self, path: str, offset: int = 0, limit: int | None = None) -> FilePart:
        """Read a text file in UTF-8, or a part of it.

        Args:
            path: Relative to the root.
            offset: The byte to begin at; take the next_offset of the part before.
            limit: How many bytes to read at most.
        """
        most = self._settings.max_read_bytes
        count = most if limit is None else min(limit, most)
        if offset < 0 or count < 4:
            raise refused("offset is 0 or more, and limit at least 4")
        with self._root.place(path) as place:
            place.existing()
            with untouched(path):
                data, size = _read(place, offset, count)
        text, used = _decoded(path, data, more=offset + len(data) < size)
        end = offset + used
        return FilePart(
            text=text, offset=offset, next_offset=end if end < size else None, size=size
        )

    @tool(effect="read", tags=["files"])
    def list_files(self, path: str = ".", recursive: bool = False, pattern: str = "*") -> Listing:
        """List a directory. Links are shown, and never followed.

        Args:
            path: The directory, relative to the root.
            recursive: List the directories below it too.
            pattern: Names to show, with * ? [abc], case-sensitive.
        """
        budget = self._budget()
        entries: list[Entry] = []
        with (
            self._root.directory(path) as directory,
            closing(_walk(directory, _clean(path), budget, MAX_DEPTH if recursive else 0)) as all_,
        ):
            for where, _, name, found in all_:
                if not fnmatchcase(name, pattern):
                    continue
                if not budget.give(where):
                    break
                entries.append(Entry(path=where, kind=_kind(found), size=found.st_size))
        return Listing(entries=entries, complete=budget.complete)

    @tool(effect="read", tags=["files"])
    def search_files(self, text: str, path: str = ".", pattern: str = "*") -> Matches:
        """Find the lines that hold a text, in a directory and all below it.

        Args:
            text: What to find, exactly as written; not an expression.
            path: The directory, relative to the root.
            pattern: Names of files to look into, with * ? [abc], case-sensitive.
        """
        if not text or "\n" in text:
            raise refused("text is a part of one line, and not empty")
        budget = self._budget()
        found = Matches(matches=[], skipped=[], complete=True)
        with (
            self._root.directory(path) as directory,
            closing(_walk(directory, _clean(path), budget, MAX_DEPTH)) as entries,
        ):
            for where, parent, name, entry in entries:
                wanted = stat.S_ISREG(entry.st_mode) and fnmatchcase(name, pattern)
                if wanted and not self._search(Place(parent, name, where), text, found, budget):
                    break
        found.complete = budget.complete
        return found

    def _search(self, place: Place, text: str, found: Matches, budget: _Budget) -> bool:
        """Look into one file; whether there is anything left to go on with."""
        try:
            data, size = _read(place, 0, min(self._settings.max_file_bytes, max(budget.data, 0)))
            if not budget.read(size if size <= self._settings.max_file_bytes else len(data)):
                return False
            lines = data.decode().split("\n") if size <= len(data) else None
        except (OSError, ToolFailure, UnicodeDecodeError):
            lines = None
        if lines is None:
            found.skipped.append(place.path)
            return budget.give(place.path)
        for number, line in enumerate(lines, 1):
            if text in line:
                shown = line[:MAX_LINE]
                if not budget.give(place.path + shown):
                    return False
                found.matches.append(Match(path=place.path, line=number, text=shown))
        return True

    def _budget(self) -> _Budget:
        return _Budget(
            entries=self._settings.max_visited,
            data=self._settings.max_searched_bytes,
            results=self._settings.max_entries,
        )


Visited = tuple[str, int, str, os.stat_result]


def _walk(
    directory: int, where: str, budget: _Budget, depth: int
) -> Generator[Visited, None, None]:
    """Path, open parent, name and kind of every entry: by name, a directory before its own."""
    for name in sorted(os.listdir(directory)):
        if name.startswith(TEMPORARY) or not _is_text(name):
            continue
        if not budget.look():
            return
        try:
            found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            continue
        path = f"{where}/{name}" if where else name
        yield path, directory, name, found
        if depth and stat.S_ISDIR(found.st_mode):
            yield from _below(directory, name, path, budget, depth - 1)


def _below(
    directory: int, name: str, path: str, budget: _Budget, depth: int
) -> Generator[Visited, None, None]:
    if not depth:
        budget.complete = False
        return
    try:
        child = os.open(name, DIRECTORY, dir_fd=directory)
    except OSError:
        return  # gone, swapped for a link, or closed to this user
    try:
        yield from _walk(child, path, budget, depth)
    finally:
        os.close(child)


def _read(place: Place, offset: int, count: int) -> tuple[bytes, int]:
    descriptor = place.open(os.O_RDONLY)
    with open(descriptor, "rb", buffering=0) as file:
        size = os.fstat(descriptor).st_size
        file.seek(offset)
        parts: list[bytes] = []
        while count > 0 and (part := file.read(count)):
            parts.append(part)
            count -= len(part)
    return b"".join(parts), size


def _decoded(path: str, data: bytes, *, more: bool) -> tuple[str, int]:
    """The text, and how many bytes it takes: a character cut in two is left to the next part."""
    try:
        return data.decode(), len(data)
    except UnicodeDecodeError as error:
        cut = more and error.start > 0 and error.end == len(data) and len(data) - error.start < 4
        if not cut:
            raise refused(f"{path!r} is not text in UTF-8 from byte {error.start} on") from None
        return data[: error.start].decode(), error.start


def _clean(path: str) -> str:
    return "/".join(step for step in path.split("/") if step not in ("", "."))


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _kind(found: os.stat_result) -> Literal["file", "directory", "link", "other"]:
    if stat.S_ISREG(found.st_mode):
        return "file"
    if stat.S_ISDIR(found.st_mode):
        return "directory"
    return "link" if stat.S_ISLNK(found.st_mode) else "other"
