"""Standard output carries results, standard error everything else.

A reader that goes away (``salvor list | head -1``) changes nothing about what a verb does:
the rest of its output goes nowhere, and its exit code stays its own. Standard output that
cannot be written for any other reason (a full disk, or it was closed) is an error.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from salvor.errors import SalvorError


class OutputLost(SalvorError):
    """Standard output cannot be written."""

    code = "output_lost"

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"standard output cannot be written: {reason}.",
            hint="What was recorded is not affected: `salvor list` and `salvor history` show it.",
        )


class FileNotWritten(SalvorError):
    """A file that the user named cannot be written."""

    code = "file_not_written"


def prepare() -> None:
    """Make sure that no character can fail to be printed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str = "") -> None:
    """Print one result, at once.

    Raises:
        OutputLost: it cannot be printed.
    """
    reason = _write(sys.stdout, text + "\n")
    if reason is not None:
        raise OutputLost(reason)


def complain(text: str) -> None:
    """Print what went wrong, if anybody can be told."""
    _write(sys.stderr, text + "\n")


def show(renderable: Any) -> None:
    """Print a table, in colour for a person; no cell is ever cut or wrapped.

    Raises:
        OutputLost: it cannot be printed.
    """
    from rich.console import Console

    # Into a buffer: rich ends the process when its file is a pipe that nobody reads.
    page = io.StringIO()
    Console(file=page, width=_UNCUT, force_terminal=is_terminal(), highlight=False).print(
        renderable
    )
    say("\n".join(line.rstrip() for line in page.getvalue().splitlines()))


def flush() -> str | None:
    """Flush what others printed (a tool's body, say), so that nothing fails at exit.

    Returns:
        Why standard output did not take all of it, or `None`.
    """
    _write(sys.stderr, "")
    return None if sys.stdout is None else _write(sys.stdout, "")


def silence(error: OSError) -> str | None:
    """Write no more to standard output after a fault of it; the reason if it is an error."""
    return _silenced(sys.stdout, error)


def is_terminal() -> bool:
    """Whether a person reads along."""
    return sys.stdout is not None and not sys.stdout.closed and sys.stdout.isatty()


_UNCUT = 10_000


def _write(stream: TextIO | None, text: str) -> str | None:
    """Write and flush; why that failed, or `None`."""
    if stream is None or stream.closed:
        return "it is closed"
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        return _silenced(stream, error)
    return None


def _silenced(stream: TextIO, error: OSError) -> str | None:
    # The descriptor, not the object: others may hold the object, and it is flushed at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return None if isinstance(error, BrokenPipeError) else str(error.strerror).rstrip(".")


def write(path: Path, text: str) -> None:
    """Write a file that the user named.

    Raises:
        FileNotWritten: it cannot be.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise FileNotWritten(f"{path} cannot be written: {error.strerror}.") from None
