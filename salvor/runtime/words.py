"""What people say beside an answer: who they are, and why."""

from __future__ import annotations

from salvor.errors import JsonRefused
from salvor.values import as_json


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
