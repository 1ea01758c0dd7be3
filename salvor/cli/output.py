"""Standard output carries results, standard error everything else.

A reader that goes away (``salvor list | head -1``) changes nothing about what a verb does:
the rest of its output goes nowhere, and its exit code stays its own.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

from salvor.errors import SalvorError


def prepare() -> None:
    """Make sure that no character can fail to be printed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str = "") -> None:
    """Print one result, at once."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except (OSError, ValueError) as error:  # a full disk, or a tool closed it
        raise SalvorError(
            f"standard output cannot be written ({str(error).rstrip('.')}).",
            hint="What was recorded is not affected: `salvor list` and `salvor history` show it.",
        ) from error


def complain(text: str) -> None:
    """Print what went wrong."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        _silence(sys.stderr)


def show(renderable: Any) -> None:
    """Print a table, in colour for a person; no cell is ever cut or wrapped."""
    from rich.console import Console

    # Into a buffer: rich ends the process when its file is a pipe that nobody reads.
    page = io.StringIO()
    Console(file=page, width=_UNCUT, force_terminal=is_terminal(), highlight=False).print(
        renderable
    )
    say("\n".join(line.rstrip() for line in page.getvalue().splitlines()))


def flush() -> None:
    """Flush what others printed (a tool's body, say), so that nothing fails at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            _silence(stream)
        except (OSError, ValueError):
            continue  # said by whoever wrote to it


def is_terminal() -> bool:
    """Whether a person reads along."""
    return sys.stdout.isatty()


_UNCUT = 10_000


def _silence(stream: TextIO) -> None:
    # The descriptor, not the object: others may hold the object, and it is flushed at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
