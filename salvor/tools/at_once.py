"""JSON text of arguments, parsed at once where the careful parser would give the same."""

from __future__ import annotations

from typing import Any, Final

from pydantic_core import from_json

from salvor.values import LONG_WHOLE, MAX_ARGUMENT_BYTES, MAX_DEPTH, JsonObject, canonical_json

_AT_ONCE: Final = MAX_ARGUMENT_BYTES // 4  # characters: never more bytes than may come
_FLAT: Final = frozenset({"string", "integer", "boolean", "null"})


def is_flat(schema: JsonObject) -> bool:
    """Whether no arguments that fit a schema hold an object, or a number that is no integer.

    Args:
        schema: The published schema of arguments; one that does not say so at once is not flat.
    """
    properties: Any = schema["properties"]
    return all(map(_is_flat, properties.values()))


def _is_flat(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    kind = schema.get("type")
    if kind == "array":
        return "prefixItems" not in schema and _is_flat(schema.get("items"))
    if kind is None and "anyOf" in schema:
        return all(map(_is_flat, schema["anyOf"]))
    return isinstance(kind, str) and kind in _FLAT


def flat_object(text: str | bytes) -> JsonObject | None:
    """A JSON object that has no colon but those of its members; ``None`` is no verdict.

    A member that is named twice would leave fewer members than colons. What is given back
    counts only if it fits a flat schema: then nothing in it is an object, whose members were
    not counted, or a number too large for its digits.
    """
    if not isinstance(text, str) or len(text) > _AT_ONCE or "\\" in text:
        return None
    if ".0" in text and LONG_WHOLE.search(text):
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):  # the latter for half a surrogate pair
        return None
    return value if type(value) is dict and text.count(":") == len(value) else None


def parsed_at_once(text: str | bytes) -> tuple[JsonObject, str] | None:
    """A plain JSON object and its canonical text; ``None`` leaves it to the careful parser.

    What differs between the two parsers is left to the careful one: escapes (which may hide
    half a surrogate pair, or a colon), integers of many digits that are written with a
    fraction of zero, and whatever is long, deep or refused here. The fast
    one drops members that are named twice, and each member of either text has one colon
    outside of strings: no colon is missing if and only if no member is.
    """
    if not isinstance(text, str) or len(text) > _AT_ONCE or "\\" in text:
        return None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        return None
    if ".0" in text and LONG_WHOLE.search(text):
        return None
    try:
        value = from_json(text, allow_inf_nan=False)
        canonical = canonical_json(value)
    except (ValueError, TypeError):  # the latter for half a surrogate pair
        return None
    if type(value) is not dict or canonical.count(":") != text.count(":"):
        return None
    return value, canonical
