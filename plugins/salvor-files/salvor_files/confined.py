"""Paths below one directory, opened step by step so that none of them leads out of it.

Every component is opened relative to the directory before it and is not allowed to be a
symbolic link. Whoever swaps a directory for a link meanwhile gets a refusal: nothing is looked
up twice by name.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from salvor import ToolFailure

TEMPORARY = ".salvor-files-"
MAX_PATH_BYTES = 4096
UNCERTAIN = (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.EINTR)

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """The name of something in a directory that is open.

    Attributes:
        directory: The descriptor of its directory.
        name: Its name there, one component.
        path: The whole path as it was given, for messages.
    """

    directory: int
    name: str
    path: str

    def kind(self) -> os.stat_result | None:
        """What stands there; a link counts as itself. `None`: nothing does.

        Raises:
            ToolFailure: nobody can tell.
        """
        with untouched(self.path):
            try:
                return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
            except FileNotFoundError:
                return None

    def regular(self) -> os.stat_result | None:
        """What stands there, if it is a file.

        Raises:
            ToolFailure: it is something else.
        """
        found = self.kind()
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise refused(f"{self.path!r} is {kind_of(found.st_mode)}, not a file")
        return found

    def existing(self) -> os.stat_result:
        """The file that stands there.

        Raises:
            ToolFailure: there is none, or it is something else.
        """
        found = self.regular()
        if found is None:
            raise refused(f"there is no file {self.path!r}")
        return found

    def open(self, flags: int, mode: int = 0o666) -> int:
        """Open the file that stands there; never through a link, never waiting for a pipe.

        Raises:
            ToolFailure: it is no file.
            OSError: it cannot be opened.
        """
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.name, flags, mode, dir_fd=self.directory)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise refused(f"{self.path!r} is {kind_of(found.st_mode)}, not a file")
        return descriptor


class Root:
    """One directory, and what is below it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def directory(self, path: str, *, make: bool = False) -> Iterator[int]:
        """Open a directory; ``.`` is the root itself.

        Args:
            path: Relative to the root.
            make: Make those that are missing.

        Raises:
            ToolFailure: it is no directory below the root; nothing was changed, except that
                directories may have been made.
        """
        with untouched(path):
            descriptor = self._walk(components(path), path, make)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def place(self, path: str, *, make: bool = False) -> Iterator[Place]:
        """Open the directory of a path, whatever stands at the path itself.

        Raises:
            ToolFailure: as `directory` does.
        """
        steps = components(path)
        if not steps:
            raise refused(f"{path!r} names no file")
        with untouched(path):
            descriptor = self._walk(steps[:-1], path, make)
        try:
            yield Place(descriptor, steps[-1], path)
        finally:
            os.close(descriptor)

    def _walk(self, steps: list[str], path: str, make: bool) -> int:
        current = os.open(self._path, DIRECTORY)
        for step in steps:
            try:
                following = _enter(current, step, make)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise refused(f"{step!r} in {path!r} is no directory, or a link") from None
                raise
            finally:
                os.close(current)
            current = following
        return current


def _enter(directory: int, step: str, make: bool) -> int:
    try:
        return os.open(step, DIRECTORY, dir_fd=directory)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(step, dir_fd=directory)
        os.fsync(directory)
    except FileExistsError:
        pass  # somebody else made it just now
    return os.open(step, DIRECTORY, dir_fd=directory)


def components(path: str) -> list[str]:
    """The steps of a path below the root.

    Raises:
        ToolFailure: it is absolute, goes up, or cannot be a path at all.
    """
    if not path or "\0" in path or len(os.fsencode(path)) > MAX_PATH_BYTES:
        raise refused("a path is 1 to 4096 bytes long and holds no zero byte")
    if path.startswith("/"):
        raise refused(f"{path!r} is absolute: paths are relative to the root")
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise refused(f"{path!r} goes up with '..'")
    if any(step.startswith(TEMPORARY) for step in steps):
        raise refused(f"names that start with {TEMPORARY!r} are kept for files being written")
    return steps


def refused(message: str) -> ToolFailure:
    """A failure that certainly changed nothing, and would be the same again."""
    return ToolFailure(message + ".", happened=False, final=True)


@contextmanager
def untouched(path: str) -> Iterator[None]:
    """Errors of the operating system before anything was changed."""
    try:
        yield
    except OSError as error:
        raise refused(f"{path!r}: {error.strerror or type(error).__name__}") from error


@contextmanager
def changing(path: str) -> Iterator[None]:
    """Errors of the one step that changes something: some of them leave open whether it did."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNCERTAIN:
            raise refused(f"{path!r}: {error.strerror or type(error).__name__}") from error
        raise ToolFailure(f"{path!r}: {error.strerror}; it may have happened.") from error


def kind_of(mode: int) -> str:
    """What a mode says in words."""
    if stat.S_ISREG(mode):
        return "a file"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a link" if stat.S_ISLNK(mode) else "a device, pipe or socket"
