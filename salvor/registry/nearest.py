"""The names that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 200


def nearest(name: str, names: Iterable[str], count: int = 2) -> tuple[str, ...]:
    """The most similar names, the nearest first; none for a name of absurd length."""
    from difflib import get_close_matches  # which only a refusal needs

    if len(name) > _LONGEST:
        return ()
    return tuple(get_close_matches(name, sorted(names), n=count))


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """A question that holds the nearest name; `None` when none is near."""
    near = nearest(name, names, 1)
    return f"Did you mean {near[0]!r}?" if near else None
