"""What an exception says, as a log and a message may carry it."""

from __future__ import annotations

from typing import Final

from salvor.errors import SalvorError
from salvor.tools.saying import text_of

MAX_SAID: Final = 16_384
"""Characters of a failure's text that are kept."""


def causes(error: BaseException) -> str:
    """An exception and what caused it, each said once: ``ValueError: x: OSError: y``."""
    try:
        return kept(": ".join(_chain(error)))
    except Exception:  # an exception's own code may raise anything
        return type(error).__qualname__


def _chain(error: BaseException) -> list[str]:
    said: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        text = _said(current)
        if not said or text not in said[-1]:
            said.append(text)
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return said


def kept(text: str) -> str:
    """As much of a failure's text as a log keeps: its beginning, and how much there was."""
    if len(text) > MAX_SAID:
        text = f"{text[:MAX_SAID]}... (the first {MAX_SAID:,} of {len(text):,} characters)"
    return storable(text)


def storable(text: str) -> str:
    """A message as a log can carry it: half a surrogate pair is escaped."""
    return text.encode(errors="backslashreplace").decode()


def _said(error: BaseException) -> str:
    text = text_of(error)
    if isinstance(error, BaseExceptionGroup):
        text = f"{text}: {_each(error)}"
    if isinstance(error, SalvorError):
        return text
    name = type(error).__qualname__
    return f"{name}: {text}" if text else name


def _each(group: BaseExceptionGroup[BaseException]) -> str:
    try:
        return "; ".join(map(causes, group.exceptions))
    except RecursionError:  # groups in groups without end
        return "..."
