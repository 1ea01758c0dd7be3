"""Where an exception comes from, in the words of whoever wrote the code."""

from __future__ import annotations

import sys
import sysconfig
import traceback
from pathlib import Path
from traceback import FrameSummary

from salvor.runtime.causes import storable
from salvor.tools.saying import text_of

_OURS = (str(Path(__file__).parent.parent),)
_OTHERS = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {sys.prefix + "/lib", "<frozen "}
)


def place_of(error: BaseException | None) -> str | None:
    """``file:line`` of the user's code that an exception passed last, if it passed any.

    A library's frames count only where there is nothing else; salvor's own never do.
    """
    if error is None:
        return None
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno or 1}"
    foreign = [one for one in traceback.extract_tb(error.__traceback__) if not _in(one, _OURS)]
    own = [one for one in foreign if not _in(one, _OTHERS)]
    named = own or [one for one in foreign if not one.filename.startswith("<")]
    return f"{named[-1].filename}:{named[-1].lineno}" if named else None


def described(error: BaseException) -> str:
    """``Name: text`` without a full stop at its end, whatever the exception's text does."""
    text = str(error.msg) if isinstance(error, SyntaxError) else text_of(error)
    text = storable(text).strip().rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _in(frame: FrameSummary, folders: tuple[str, ...]) -> bool:
    return frame.filename.startswith(folders)
