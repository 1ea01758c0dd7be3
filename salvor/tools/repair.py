"""Repair of arguments as models send them: only where the type refused, and only what is safe."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from typing import Any

from pydantic import ValidationError

from salvor.errors import JsonRefused
from salvor.tools.problems import Fault, Place, faults_of
from salvor.values import JsonObject, JsonValue, as_json, parse_json

_integer = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?").fullmatch
_decimal = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?").fullmatch

_INTEGERS = frozenset({"int_type", "int_parsing", "int_from_float"})
_NUMBERS = frozenset({"float_type", "float_parsing"})
_CONTAINERS = frozenset(
    {
        "list_type",
        "set_type",
        "frozen_set_type",
        "tuple_type",
        "dict_type",
        "mapping_type",
        "model_type",
        "model_attributes_type",
        "dataclass_type",
        "typed_dict_type",
    }
)
_STRICT_EVEN_WHEN_LAX = frozenset({"int_type", "float_type"})
"""What lax validation still refuses in this way is meant to be strict."""

_NOTHING: Any = object()


def refused_when_lax(validate: Callable[[str], object], text: str, raw: JsonObject) -> set[Place]:
    """The places that the type refuses even when it may convert."""
    try:
        validate(text)
    except ValidationError as error:
        faults = faults_of(error, raw)
        return {fault.place for fault in faults if fault.kind in _STRICT_EVEN_WHEN_LAX}
    except Exception:  # a check of the author's own model, or of a library, may raise anything
        return set()
    return set()


def repaired(
    raw: JsonObject,
    faults: list[Fault],
    refused_when_lax: Collection[Place],
    omissible: Collection[str],
) -> JsonObject | None:
    """The arguments with the failing places repaired; `None` when nothing could be.

    Args:
        raw: The arguments; left as they are.
        faults: What strict validation refused.
        refused_when_lax: Places that the type refuses even when it may convert.
        omissible: Arguments that may be left out and for which ``null`` means just that.
    """
    changes: dict[Place, Any] = {}
    for fault in faults:
        if fault.place in changes:
            continue
        if fault.value is None and len(fault.place) == 1 and fault.place[0] in omissible:
            changes[fault.place] = _NOTHING
            continue
        value = _repair(fault, lax=fault.place not in refused_when_lax)
        if value is not _NOTHING:
            changes[fault.place] = value
    if not changes:
        return None
    found = _changed(raw, changes, ())
    try:
        as_json(found)
    except JsonRefused:
        return None
    assert isinstance(found, dict)
    return found


def _repair(fault: Fault, *, lax: bool) -> Any:
    value = fault.value
    if fault.kind in _CONTAINERS:
        return _container(value)
    if not lax:
        return _NOTHING
    if fault.kind in _INTEGERS:
        return _whole(value)
    if fault.kind in _NUMBERS and isinstance(value, str) and _decimal(value):
        return _number(value)
    return _NOTHING


def _container(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return _NOTHING
    try:
        return parse_json(value)
    except JsonRefused:
        return _NOTHING


def _whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else _NOTHING
    if not isinstance(value, str) or not _integer(value):
        return _NOTHING
    try:
        return int(value.partition(".")[0])
    except ValueError:  # more digits than the interpreter reads
        return _NOTHING


def _number(text: str) -> Any:
    try:
        number = float(text) if re.search("[.eE]", text) else int(text)
    except ValueError:
        return _NOTHING
    if isinstance(number, int) or math.isfinite(number):
        return number
    return _NOTHING


def _changed(value: JsonValue, changes: dict[Place, Any], place: Place) -> JsonValue:
    if place in changes:
        changed: JsonValue = changes[place]
        return changed
    if isinstance(value, dict):
        items = {key: _changed(item, changes, (*place, key)) for key, item in value.items()}
        return {key: item for key, item in items.items() if item is not _NOTHING}
    if isinstance(value, list):
        return [_changed(item, changes, (*place, index)) for index, item in enumerate(value)]
    return value
