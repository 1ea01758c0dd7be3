"""How large a strict schema may be, by OpenAI's published limits."""

from __future__ import annotations

from typing import Final

from salvor.errors import Problem
from salvor.registry.schemas import nodes, rebuilt
from salvor.values import JsonObject, JsonValue

MAX_PROPERTIES: Final = 5_000
MAX_LEVELS: Final = 10
MAX_TEXT: Final = 120_000
MAX_OPTIONS: Final = 1_000
LONG_ENUM: Final = 250
MAX_LONG_ENUM_TEXT: Final = 15_000


def beyond_limits(schema: JsonObject) -> tuple[Problem, ...]:
    """Everything about a strict schema that is too large."""
    every = list(nodes(schema))
    names = [name for node, _ in every for name in _names(node, "properties")]
    definitions = _names(schema, "$defs")
    options = [option for node, _ in every for option in _options(node)]
    text = sum(map(len, (*names, *definitions))) + sum(
        len(option) for option in options if isinstance(option, str)
    )
    counts = (
        ("properties", MAX_PROPERTIES, len(names)),
        ("values in enums", MAX_OPTIONS, len(options)),
        ("characters in names and values", MAX_TEXT, text),
    )
    found = [_problem("", what, most, count) for what, most, count in counts if count > most]
    found += [problem for node, at in every for problem in _long_enum(node, at)]
    if not found and _too_deep(schema):
        found = [_problem("", "levels of objects", MAX_LEVELS, MAX_LEVELS + 1)]
    return tuple(found)


def _names(node: JsonObject, key: str) -> list[str]:
    held = node.get(key)
    return list(held) if isinstance(held, dict) else []


def _options(node: JsonObject) -> list[JsonValue]:
    options = node.get("enum")
    if isinstance(options, list):
        return options
    return [node["const"]] if "const" in node else []


def _long_enum(node: JsonObject, at: str) -> list[Problem]:
    options = _options(node)
    size = sum(len(option) for option in options if isinstance(option, str))
    if len(options) <= LONG_ENUM or size <= MAX_LONG_ENUM_TEXT:
        return []
    what = f"characters in an enum of more than {LONG_ENUM} values"
    return [_problem(at, what, MAX_LONG_ENUM_TEXT, size)]


def _too_deep(schema: JsonObject) -> bool:
    """Whether objects stand inside each other too often; recursion counts once."""
    definitions = schema.get("$defs")
    known = definitions if isinstance(definitions, dict) else {}
    root: JsonValue = {key: value for key, value in schema.items() if key != "$defs"}
    waiting: list[tuple[JsonValue, int, frozenset[str]]] = [(root, 0, frozenset())]
    seen: set[tuple[str, int]] = set()
    while waiting:
        node, level, inside = waiting.pop()
        if not isinstance(node, dict):
            continue
        level += "properties" in node
        if level > MAX_LEVELS:
            return True
        name = str(node.get("$ref", "")).removeprefix("#/$defs/")
        if name in known and name not in inside and (name, level) not in seen:
            seen.add((name, level))
            waiting.append((known[name], level, inside | {name}))
        waiting += [(child, level, inside) for child in _children(node)]
    return False


def _children(node: JsonObject) -> list[JsonValue]:
    found: list[JsonValue] = []

    def note(child: JsonValue, _at: str) -> JsonValue:
        found.append(child)
        return child

    rebuilt(node, note, "")
    return found


def _problem(at: str, what: str, most: int, count: int) -> Problem:
    return Problem(pointer=at, expected=f"at most {most:,} {what}", got=f"{count:,}")
