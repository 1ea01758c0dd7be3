"""How refusals name what was expected and what came."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from salvor.values import canonical_json

DATE_TIME = "a date-time with a time zone (RFC 3339), such as 2026-01-31T12:00:00Z"

TYPES = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}

BASE64 = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"

# As Python needs it: with a sign and parts of a second, which RFC 3339 has not.
_N = "[0-9]{1,9}"
_S = rf"{_N}(\.[0-9]{{1,6}})?S"
_CLOCK = rf"T({_N}H({_N}M)?({_S})?|{_N}M({_S})?|{_S})"
_DAYS = rf"({_N}Y({_N}M)?({_N}D)?|{_N}M({_N}D)?|{_N}D|{_N}W)"
DURATION = rf"^[+-]?P({_DAYS}({_CLOCK})?|{_CLOCK})$"

PATTERNS = {BASE64: "text in base64", DURATION: "a duration (ISO 8601), such as PT1H30M"}

FORMATS = {
    "date-time": DATE_TIME,
    "date": "a date, such as 2026-01-31",
    "duration": "a duration (ISO 8601), such as PT1H30M",
    "uuid": "a UUID, such as 12345678-1234-5678-1234-567812345678",
    "email": "an e-mail address",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "uri": "a URI",
}

_KINDS = {
    "none_required": "null",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "decimal": "a number, or a number as text",
    "string": "a string",
    "bytes": "text in base64",
    "list": "an array",
    "tuple": "an array",
    "set": "an array",
    "frozen_set": "an array",
    "dict": "an object",
    "mapping": "an object",
    "model": "an object",
    "model_attributes": "an object",
    "dataclass": "an object",
    "datetime": DATE_TIME,
    "date": FORMATS["date"],
    "time": "a time of day, such as 12:30:00",
    "time_delta": FORMATS["duration"],
    "uuid": FORMATS["uuid"],
}
_CAUSES = (
    "_type", "_parsing", "_parsing_size", "_from_float", "_invalid_encoding", "_object_invalid",
    "_from_datetime_parsing", "_from_datetime_inexact",
)  # fmt: skip

_SHOULD = r"(\w+) should (?:be )?(have|match|contain)?\s*(.*)"
_NOUNS = {"Input": "", "String": "text", "List": "an array", "Dictionary": "an object"}
_VERBS = {"have": "with ", "match": "that matches ", "contain": "that contains "}


def got(value: Any) -> str:
    """What came, short enough for a sentence."""
    if isinstance(value, list):
        return f"an array of {len(value)} items" if len(value) != 1 else "an array of 1 item"
    if isinstance(value, dict):
        return "an object"
    try:
        text = canonical_json(value)
    except (TypeError, ValueError):
        return f"a value of the type {type(value).__qualname__}"
    if len(text) > 60:
        text = f"{text[:56]}..." + ('"' if isinstance(value, str) else "")
    return f"the text {text}" if isinstance(value, str) else text


def anything_of(choices: Sequence[str]) -> str:
    """``a``, ``a or b``, ``a or b or c``: each choice once."""
    return " or ".join(dict.fromkeys(choices))


def expected(kind: str, message: str, context: Mapping[str, Any]) -> str:
    """What a pydantic error asks for, in a few words."""
    known = _KINDS.get(kind) or next(
        (
            _KINDS[kind[: -len(end)]]
            for end in _CAUSES
            if kind[: -len(end)] in _KINDS and kind.endswith(end)
        ),
        None,
    )
    if known is not None:
        return known
    if kind in ("literal_error", "enum"):
        return str(context.get("expected", message)).replace("None", "null")
    if kind == "union_tag_not_found":
        return f"an object with the field {context.get('discriminator', '')}"
    if kind == "union_tag_invalid":
        return f"an object whose {context.get('discriminator')} is {_any_tag(context)}"
    if kind in ("value_error", "assertion_error"):
        return f"a value its check accepts ({message.partition(', ')[2] or message})"
    return _plain(message)


def _any_tag(context: Mapping[str, Any]) -> str:
    return anything_of(str(context.get("expected_tags", "")).split(", "))


def _plain(message: str) -> str:
    match = re.fullmatch(_SHOULD, message.partition(" after validation")[0], re.DOTALL)
    if match is None:
        return f"a value for which this does not hold: {message}"
    noun, verb, rest = match.groups()
    words = f"{_NOUNS.get(noun, noun)} {_VERBS.get(verb, '')}{rest}".strip()
    return words if words != rest or rest.startswith(("a ", "an ", "one ")) else f"a value {rest}"
