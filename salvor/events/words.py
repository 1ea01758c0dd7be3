"""The words that fields of events may hold where only a few are known."""

from __future__ import annotations

from typing import TypeVar, get_args

from salvor.errors import Extent, JsonRefused
from salvor.events.vocabulary import BudgetKind, EffectName, OutcomeName

W = TypeVar("W", bound=str)

EXTENTS = get_args(Extent)
EFFECTS = get_args(EffectName)
OUTCOMES = get_args(OutcomeName)
BUDGETS = get_args(BudgetKind)


def known(word: W, allowed: tuple[str, ...], what: str) -> W:
    """The word, if a reader of the log will know it: one that it does not spoils the whole log.

    Raises:
        JsonRefused: it is none of those that are allowed.
    """
    if word not in allowed:
        raise JsonRefused(f"{what} has to be one of {', '.join(allowed)}, got {word!r}.")
    return word
