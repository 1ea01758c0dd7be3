"""What an exception says of itself, whatever its text does."""

from __future__ import annotations

from pydantic_core import ValidationError


def text_of(error: BaseException) -> str:
    """The text of an exception; empty where it has none, or fails to make one.

    What a model refuses is told without the values that came, which may be secrets.
    """
    try:
        if isinstance(error, ValidationError):
            return _without_values(error)
        return str(error)
    except Exception:
        return ""


def in_one_line(error: BaseException) -> str:
    """``Name: text`` in one line."""
    text = " ".join(text_of(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _without_values(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    told = (f"{'/'.join(map(str, fault['loc'])) or 'it'}: {fault['msg']}" for fault in faults)
    return f"{error.title}: {'; '.join(told)}"
