"""The tools that change files, and what each failure of theirs may have done."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from pydantic import BaseModel

from salvor import INJECTED, Context, ToolFailure, tool
from salvor_files.confined import TEMPORARY, Place, Root, changing, refused, untouched
from salvor_files.settings import Settings

WRITABLE = 0o222

Sync: TypeAlias = Callable[[int], None]


class Written(BaseModel):
    """A file as it was left."""

    path: str
    size: int


class Moved(BaseModel):
    """Where a file is now."""

    path: str


class Deleted(BaseModel):
    """What is gone, and how large it was."""

    path: str
    size: int


class Writing:
    """Tools that write below the root.

    Args:
        root: The directory.
        settings: What the operator allows.
        sync: Waits until a file, or the names in a directory, are on the disk.
    """

    def __init__(self, root: Root, settings: Settings, *, sync: Sync = os.fsync) -> None:
        self._root = root
        self._settings = settings
        self._sync = sync

    @tool(effect="idempotent", tags=["files"])
    def write_file(
        self, path: str, text: str, make_directories: bool = False, *, ctx: Context = INJECTED
    ) -> Written:
        """Write a text file in UTF-8, whole: it replaces what was there, or makes it.

        A reader sees the old file or the new one, never a part.

        Args:
            path: Relative to the root.
            text: What the file is to hold.
            make_directories: Make the directories that are missing.
            ctx: The call.
        """
        data = text.encode()
        self._check_size(path, len(data))
        with self._root.place(path, make=make_directories) as place:
            before = place.regular()
            if before is not None and not before.st_mode & WRITABLE:
                raise refused(f"{path!r} is read-only")
            _replace(place, data, before, _mark(ctx), self._sync)
        return Written(path=path, size=len(data))

    @tool(effect="write", tags=["files"])
    def append_line(self, path: str, line: str) -> Written:
        """Add a line at the end of a text file, which is made if it is not there.

        Args:
            path: Relative to the root.
            line: The line, without its end.
        """
        if "\n" in line or "\r" in line:
            raise refused("a line holds no line break")
        data = line.encode() + b"\n"
        self._check_size(path, len(data))
        with self._root.place(path) as place:
            place.regular()
            with untouched(path):
                descriptor = place.open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                size = self._append(place, descriptor, data)
            finally:
                os.close(descriptor)
            _settle(self._sync, place.directory, place.path)
        return Written(path=path, size=size)

    @tool(effect="write", tags=["files"])
    def move_file(self, source: str, target: str) -> Moved:
        """Move a file to another name or directory. What is there already is never replaced.

        Args:
            source: The file, relative to the root.
            target: Its new path, relative to the root.
        """
        with self._root.place(source) as old, self._root.place(target) as new:
            old.existing()
            _link(old, new)
            try:
                os.unlink(old.name, dir_fd=old.directory)
            except OSError as error:
                raise ToolFailure(
                    f"{target!r} is there, and {source!r} could not be taken away: "
                    f"{error.strerror}.",
                    happened=True,
                ) from error
            _settle(self._sync, new.directory, target)
            _settle(self._sync, old.directory, source)
        return Moved(path=target)

    @tool(effect="write", tags=["files"])
    def delete_file(self, path: str) -> Deleted:
        """Delete a file; it cannot be brought back.

        Args:
            path: Relative to the root.
        """
        with self._root.place(path) as place:
            size = place.existing().st_size
            with changing(path):
                os.unlink(place.name, dir_fd=place.directory)
            _settle(self._sync, place.directory, path)
        return Deleted(path=path, size=size)

    def _check_size(self, path: str, size: int) -> None:
        most = self._settings.max_file_bytes
        if size > most:
            raise refused(f"{path!r} would be {size} bytes large, and {most} is the limit")

    def _append(self, place: Place, descriptor: int, data: bytes) -> int:
        with untouched(place.path):
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                data = b"\n" + data  # a line that somebody began and did not end
        self._check_size(place.path, size + len(data))
        written = _write(descriptor, data, place.path, made=not size)
        if written != len(data):
            raise ToolFailure(
                f"{place.path!r}: only {written} of {len(data)} bytes were written.", happened=True
            )
        _settle(self._sync, descriptor, place.path)
        return size + len(data)


def _write(descriptor: int, data: bytes, path: str, *, made: bool) -> int:
    try:
        with changing(path):
            return os.write(descriptor, data)
    except ToolFailure as failure:
        if not made or failure.happened is None:
            raise
        raise ToolFailure(f"{failure.message} It is there, and empty.", happened=True) from failure


def _mark(ctx: Context) -> str:
    """What the temporary files of one call begin with, in all its attempts."""
    key = ctx.idempotency_key or f"{ctx.run_id}:{ctx.position}"
    return TEMPORARY + hashlib.sha256(key.encode()).hexdigest()[:32]


def _replace(
    place: Place, data: bytes, before: os.stat_result | None, mark: str, sync: Sync
) -> None:
    """Write a file beside it, and put that in its place in one step."""
    with untouched(place.path):
        _clear(place.directory, mark)
    # A name of its own: an attempt that was thought dead must not put our half in place.
    temporary = f"{mark}-{secrets.token_hex(8)}"
    try:
        with untouched(place.path):
            _fill(Place(place.directory, temporary, place.path), data, before, sync)
        with changing(place.path):
            os.replace(
                temporary, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory
            )
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.directory)
        raise
    _settle(sync, place.directory, place.path)


def _clear(directory: int, mark: str) -> None:
    """Take away what an attempt left behind that was killed."""
    for name in os.listdir(directory):
        if name.startswith(mark):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=directory)


def _fill(beside: Place, data: bytes, before: os.stat_result | None, sync: Sync) -> None:
    descriptor = beside.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with open(descriptor, "wb") as file:
        if before is not None:
            os.fchmod(descriptor, before.st_mode & 0o777)
        file.write(data)
        file.flush()
        sync(descriptor)


def _link(old: Place, new: Place) -> None:
    """Give a file a second name, which unlike a rename never replaces anything."""
    try:
        with changing(old.path):
            os.link(
                old.name,
                new.name,
                src_dir_fd=old.directory,
                dst_dir_fd=new.directory,
                follow_symlinks=False,
            )
    except ToolFailure as failure:
        if isinstance(failure.__cause__, FileExistsError):
            raise refused(f"{new.path!r} is there already") from None
        raise


def _settle(sync: Sync, descriptor: int, path: str) -> None:
    """Wait for the disk once something has been changed."""
    try:
        sync(descriptor)
    except OSError as error:
        raise ToolFailure(
            f"{path!r}: it is done, and may not survive a power cut: {error.strerror}.",
            happened=True,
        ) from error
