"""What people say: whether a log can hold it, and give it back."""

from __future__ import annotations

from salvor.errors import JsonRefused, Problem
from salvor.values import (
    MAX_ARGUMENT_BYTES,
    MAX_OUTPUT_BYTES,
    JsonValue,
    as_json,
    canonical_json,
)


def check_words(**said: str | None) -> None:
    """See that a log can hold what somebody said; by what it is.

    Raises:
        JsonRefused: naming what cannot be kept.
    """
    for name, text in said.items():
        what = f"the {name.replace('_', ' ')}"
        if text is not None and not isinstance(text, str):
            raise JsonRefused(f"{what} has to be text, got {text!r}.")
        as_json(text, what=what)
        if text is not None and len(text) > MAX_ARGUMENT_BYTES:
            raise JsonRefused(f"{what} is longer than {MAX_ARGUMENT_BYTES:,} characters.")


def check_limit(limit: object) -> None:
    """See that a page has a size.

    Raises:
        ValueError: it is no whole number from 1 on.
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise ValueError(f"a limit has to be a whole number from 1 on, got {limit!r}.")


def too_large(value: JsonValue) -> tuple[Problem, ...]:
    """What is wrong with the size of what becomes an answer or an output, if anything is."""
    size = len(canonical_json(value).encode())
    if size <= MAX_OUTPUT_BYTES:
        return ()
    expected = f"at most {MAX_OUTPUT_BYTES:,} bytes of JSON"
    return (Problem(pointer="", expected=expected, got=f"{size:,} bytes"),)
