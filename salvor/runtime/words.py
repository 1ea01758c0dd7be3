"""What people say beside an answer: who they are, and why."""

from __future__ import annotations

from salvor.values import as_json


def check_words(**said: str | None) -> None:
    """See that a log can hold what somebody said; by what it is.

    Raises:
        JsonRefused: naming what cannot be kept.
    """
    for what, text in said.items():
        as_json(text, what=f"the {what.replace('_', ' ')}")
