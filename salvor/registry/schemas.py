"""Walking JSON Schemas: which keywords hold schemas, and what a reference points at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import unquote

from salvor.values import JsonObject, JsonValue, pointer

HOLDS_SCHEMA: Final = frozenset({
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items",
    "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
})  # fmt: skip
HOLDS_LIST: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
HOLDS_MAP: Final = frozenset({
    "$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties",
})  # fmt: skip
ANNOTATIONS: Final = frozenset({
    "$comment", "$schema", "default", "deprecated", "description", "discriminator", "examples",
    "readOnly", "title", "writeOnly",
})  # fmt: skip
"""Keywords that describe a value and refuse none."""

DEFINITIONS: Final = ("$defs", "definitions")

Change = Callable[[JsonValue, str], JsonValue]


def rebuilt(node: JsonObject, change: Change, at: str) -> JsonObject:
    """A copy of a schema with each of its direct subschemas changed; data is left alone.

    Args:
        node: The schema.
        change: Makes the new subschema of the old one and its place.
        at: The schema's own place.
    """
    return {key: _changed(key, value, change, pointer(at, key)) for key, value in node.items()}


def _changed(key: str, value: JsonValue, change: Change, at: str) -> JsonValue:
    if isinstance(value, dict) and key in HOLDS_MAP:
        return {
            name: held if isinstance(held, list) else change(held, pointer(at, name))
            for name, held in value.items()
        }
    if isinstance(value, list) and key in HOLDS_LIST:
        return [change(held, pointer(at, index)) for index, held in enumerate(value)]
    if isinstance(value, dict | bool) and key in HOLDS_SCHEMA:
        return change(value, at)
    return value


def nodes(schema: JsonValue, at: str = "") -> Iterator[tuple[JsonObject, str]]:
    """Every object schema below and including this one, with its place."""
    if not isinstance(schema, dict):
        return
    yield schema, at
    found: list[tuple[JsonValue, str]] = []

    def note(child: JsonValue, place: str) -> JsonValue:
        found.append((child, place))
        return child

    rebuilt(schema, note, at)
    for child, place in found:
        yield from nodes(child, place)


def target(root: JsonObject, reference: JsonValue) -> JsonValue:
    """What a reference inside a schema points at.

    Raises:
        LookupError: nothing, or something outside the schema.
    """
    if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
        raise LookupError(reference)
    found: Any = root
    for step in reference.split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found[int(name) if isinstance(found, list) and name.isdecimal() else name]
        if not isinstance(found, dict | list | bool):
            raise LookupError(reference)
    if not isinstance(found, dict | bool):
        raise LookupError(reference)
    return found


def constraints(node: JsonObject) -> list[str]:
    """The keywords of a schema that can refuse a value, references left out."""
    apart = (*DEFINITIONS, "$ref", "$id")
    return sorted(key for key in node if key not in ANNOTATIONS and key not in apart)


def takes_null(root: JsonObject, node: JsonValue) -> bool:
    """Whether a schema takes null, as far as its own words tell; when in doubt it does."""
    return _takes_null(root, node, frozenset())


def _takes_null(root: JsonObject, node: JsonValue, seen: frozenset[str]) -> bool:
    if not isinstance(node, dict):
        return node is not False
    if "$ref" in node:
        reference = str(node["$ref"])
        if reference in seen:
            return False
        try:
            held = target(root, reference)
        except (LookupError, TypeError):
            return True
        if not _takes_null(root, held, seen | {reference}):
            return False
    kinds = node.get("type")
    if kinds is not None and "null" not in (kinds if isinstance(kinds, list) else [kinds]):
        return False
    options = node.get("enum", [node["const"]] if "const" in node else None)
    if isinstance(options, list) and None not in options:
        return False
    for union in ("anyOf", "oneOf"):
        arms = node.get(union)
        if isinstance(arms, list) and not any(_takes_null(root, arm, seen) for arm in arms):
            return False
    arms = node.get("allOf")
    return not isinstance(arms, list) or all(_takes_null(root, arm, seen) for arm in arms)
