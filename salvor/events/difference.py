"""Where two JSON values differ first, for messages."""

from __future__ import annotations

from salvor.values import JsonValue, canonical_json, pointer, same_json

_SHOWN = 200


def difference(recorded: JsonValue, asked: JsonValue, at: str = "") -> tuple[str, str, str] | None:
    """The first place where two values differ, and what stands there on either side.

    Returns:
        A JSON Pointer and both texts, shortened; ``None`` for values that are the same by
        canonical bytes.
    """
    if same_json(recorded, asked):
        return None
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in sorted({*recorded, *asked}):
            place = pointer(at, key)
            if key not in asked:
                return place, shown(recorded[key]), "nothing"
            if key not in recorded:
                return place, "nothing", shown(asked[key])
            found = difference(recorded[key], asked[key], place)
            if found is not None:
                return found
    if isinstance(recorded, list) and isinstance(asked, list) and len(recorded) == len(asked):
        for index, (left, right) in enumerate(zip(recorded, asked, strict=True)):
            found = difference(left, right, pointer(at, index))
            if found is not None:
                return found
    return at, shown(recorded), shown(asked)


def shown(value: JsonValue) -> str:
    """A value's canonical text, shortened."""
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
