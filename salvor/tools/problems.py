"""What pydantic refused, as places in the JSON that was passed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from pydantic import ValidationError

from salvor.errors import Problem
from salvor.tools.check import REQUIRED, merged
from salvor.tools.wording import expected, got
from salvor.values import JsonValue, pointer, same_json

Place: TypeAlias = tuple[str | int, ...]

_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_EXTRA = frozenset({"extra_forbidden", "unexpected_keyword_argument", "no_such_attribute"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One error of pydantic, found again in the JSON.

    ``in_arm`` says that it speaks of one arm of a union only.
    """

    place: Place
    kind: str
    value: Any
    expected: str
    in_arm: bool

    @property
    def problem(self) -> Problem:
        """The fault as it is reported."""
        came = "nothing" if self.kind in _MISSING else got(self.value)
        return Problem(pointer=at(self.place), expected=self.expected, got=came)


def at(place: Place) -> str:
    """A place as a JSON Pointer."""
    text = ""
    for step in place:
        text = pointer(text, step)
    return text


def faults_of(
    error: ValidationError, raw: JsonValue, names: tuple[str, ...] | None = None
) -> list[Fault]:
    """Every error of a validation, with its place in the JSON.

    Args:
        error: What pydantic raised.
        raw: The JSON that was validated.
        names: The arguments there are, for near misses, when it is arguments.
    """
    found = [_fault(item, raw, names) for item in error.errors(include_url=False)]
    places = {fault.place for fault in found}
    return [fault for fault in found if not (fault.in_arm and _went_further(fault, places))]


def problems_of(
    error: ValidationError, raw: JsonValue, names: tuple[str, ...] | None = None
) -> tuple[Problem, ...]:
    """Every error of a validation as one problem a place."""
    return merged([fault.problem for fault in faults_of(error, raw, names)])


def _went_further(fault: Fault, places: set[Place]) -> bool:
    depth = len(fault.place)
    return any(len(place) > depth and place[:depth] == fault.place for place in places)


def _fault(item: Any, raw: JsonValue, names: tuple[str, ...] | None) -> Fault:
    kind: str = item["type"]
    steps: Place = item["loc"]
    last: Place = ()
    if kind in _MISSING:
        steps, last = steps[:-1], steps[-1:]
        wanted = REQUIRED
    elif kind in _EXTRA:
        argument = names is not None and len(steps) == 1
        wanted = _no_such(str(steps[-1]), names or ()) if argument else "no such field"
    else:
        wanted = expected(kind, item["msg"], item.get("ctx", {}))
    if steps[-1:] == ("[key]",):
        steps, wanted = steps[:-1], f"a key that is {wanted}"
        place = located(steps, raw, None)
    else:
        place = located(steps, raw, item["input"])
    return Fault(
        place=place + last,
        kind=kind,
        value=item["input"],
        expected=wanted,
        in_arm=len(place) < len(steps),
    )


def _no_such(name: str, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return f"no argument of that name{hint}"


def located(steps: Place, raw: JsonValue, value: Any) -> Place:
    """The place in the JSON that pydantic's location means.

    A location also names the arms of unions and the checks on the way, which are no places.
    """
    candidates = list(islice(_walk(steps, raw), 64))
    for place, found in candidates:
        if _same(found, value):
            return place
    return candidates[0][0] if candidates else ()


def _walk(steps: Place, value: JsonValue, place: Place = ()) -> Iterator[tuple[Place, JsonValue]]:
    if not steps:
        yield place, value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict) and str(step) in value:
        yield from _walk(rest, value[str(step)], (*place, str(step)))
    elif isinstance(value, list) and isinstance(step, int) and step < len(value):
        yield from _walk(rest, value[step], (*place, step))
    yield from _walk(rest, value, place)


def _same(left: JsonValue, right: Any) -> bool:
    try:
        return same_json(left, right)
    except (TypeError, ValueError):
        return False
