"""Where a result is not of its declared type, or has no JSON form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import ValidationError

from salvor.errors import Problem
from salvor.tools.problems import problems_of
from salvor.tools.wording import got
from salvor.values import JsonValue, canonical_json, pointer

CARRIED = "a value that JSON can carry"


def unlike(
    value: Any,
    dump: Callable[..., JsonValue],
    validate: Callable[..., object],
    error: Exception,
) -> tuple[Problem, ...]:
    """What is wrong with a result that its type would not write, at least as a whole.

    Args:
        value: The result.
        dump: What writes values of the type.
        validate: What reads the JSON that it writes.
        error: Why it would not.
    """
    formless: dict[JsonValue, Any] = {}

    def stand_in(unknown: Any) -> str:
        mark = f"\0no JSON form {len(formless)}"
        formless[mark] = unknown
        return mark

    try:
        plain = dump(value, mode="json", by_alias=True, warnings="none", fallback=stand_in)
        marked = tuple(_marked(plain, formless))
        if not marked:
            validate(canonical_json(plain), strict=True)
    except ValidationError as fault:
        return problems_of(fault, plain)
    except Exception:  # a serialiser of the author's own may raise anything
        marked = ()
    return marked or (_whole(value, error),)


def _marked(value: JsonValue, formless: dict[JsonValue, Any], place: str = "") -> Iterator[Problem]:
    if isinstance(value, str):
        if value in formless:
            yield Problem(pointer=place, expected=CARRIED, got=got(formless[value]))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _marked(item, formless, pointer(place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _marked(item, formless, pointer(place, index))


def _whole(value: Any, error: Exception) -> Problem:
    wanted = re.search("Expected `[^`]*`", str(error))
    reason = wanted.group() if wanted else str(error).partition("\n")[0]
    came = f"{got(value)} ({reason})"
    return Problem(pointer="", expected="a value of the declared type", got=came)
