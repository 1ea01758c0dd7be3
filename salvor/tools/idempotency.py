"""Declared keys: what makes two calls the same one (DURABILITY E1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NoReturn

from salvor.errors import ArgumentsRefused, Problem, ToolDefinitionError
from salvor.tools.contract import ToolMeta
from salvor.tools.wording import got
from salvor.values import (
    JsonObject,
    JsonValue,
    as_json,
    canonical_json,
    integral,
    pointer,
    quoted,
)

_FITTING = "text that is not empty, or a number"


def declaration_of(meta: ToolMeta) -> JsonValue:
    """The key declaration as it goes into a tool's digest."""
    key = meta.idempotency_key
    if key is None or isinstance(key, str):
        return key
    if isinstance(key, tuple):
        return list(key)
    name = getattr(key, "__qualname__", type(key).__qualname__)
    return {"function": f"{getattr(key, '__module__', '')}:{name}"}


def key_of(
    meta: ToolMeta, arguments: JsonObject, *, tool: str, wires: Mapping[str, str]
) -> str | None:
    """The canonical text of a call's key; `None` when the tool declares none.

    Args:
        meta: What the tool declares.
        arguments: The canonical arguments.
        tool: The tool's name, for messages.
        wires: By parameter, its name in the JSON.

    Raises:
        ArgumentsRefused: naming path, place and the keys that are there.
    """
    key = meta.idempotency_key
    if key is None:
        return None
    if isinstance(key, str) and "." not in key:
        at_once = _single(key, arguments.get(wires.get(key, key)))
        if at_once is not None:
            return at_once
    if callable(key):
        return canonical_json({"key": integral(_computed(key, arguments, tool))})
    return canonical_json(
        {path: integral(_at(arguments, path, tool, wires)) for path in meta.key_paths}
    )


def _single(path: str, value: JsonValue) -> str | None:
    """The key of one field with plain text or a whole number, as `canonical_json` writes it."""
    if type(value) is int:
        return f"{{{quoted(path)}:{value}}}"
    if type(value) is str and value.isascii() and value:
        return f"{{{quoted(path)}:{quoted(value)}}}"
    return None


def _at(arguments: JsonObject, path: str, tool: str, wires: Mapping[str, str]) -> JsonValue:
    head, *rest = path.split(".")
    value: JsonValue = arguments
    place = ""
    for step in (wires.get(head, head), *rest):
        if not isinstance(value, dict):
            _refuse(tool, path, place, "an object", got(value))
        if step not in value:
            present = ", ".join(sorted(value)) or "none"
            _refuse(
                tool, path, pointer(place, step), "a value", "nothing",
                hint=f"The keys present at {place or '/'} are: {present}.",
            )  # fmt: skip
        value, place = value[step], pointer(place, step)
    if not _fits(value):
        _refuse(tool, path, place, _FITTING, got(value))
    return value


def _fits(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (
        isinstance(value, int | float) and not isinstance(value, bool)
    )


def _computed(function: Callable[[JsonObject], Any], arguments: JsonObject, tool: str) -> JsonValue:
    name = getattr(function, "__qualname__", "the key function")
    try:
        found = function(deepcopy(arguments))
    except Exception as error:  # the author's function may raise anything
        _refuse(tool, f"{name}()", "", "a key", f"{type(error).__name__}: {error}")
    parts = list(found) if isinstance(found, tuple) else [found]
    if not parts or not all(map(_fits, parts)):
        _refuse(tool, f"{name}()", "", f"{_FITTING}, or a tuple of them", got(found))
    return as_json(parts if isinstance(found, tuple) else found, what="the key")


def _refuse(
    tool: str, path: str, place: str, expected: str, came: str, hint: str | None = None
) -> NoReturn:
    problem = Problem(
        pointer=place, expected=f"{expected} for the idempotency key {path!r}", got=came
    )
    raise ArgumentsRefused(tool=tool, problems=(problem,), hint=hint)


def check_path(path: str, schema: JsonObject, wires: Mapping[str, str]) -> None:
    """Refuse a key path that the input schema shows to lead nowhere.

    Raises:
        ToolDefinitionError: naming the path and the nearest spelling.
    """
    head, *rest = path.split(".")
    node: Any = schema
    for step in (wires.get(head, head), *rest):
        node = _resolved(node, schema)
        properties = node.get("properties")
        if properties is None:
            if node.get("type", "object") != "object":
                raise _astray(path, f"{node['type']} values have no fields", None)
            return
        if step not in properties:
            if node.get("additionalProperties") is not False:
                return
            raise _astray(path, f"there is no field {step!r}", _meant(step, properties))
        node = properties[step]
    if _resolved(node, schema).get("type") in ("boolean", "array", "object", "null"):
        raise _astray(path, f"a key has to be {_FITTING}", None)


def _meant(step: str, properties: Mapping[str, Any]) -> str:
    from difflib import get_close_matches  # which only a refusal needs

    near = get_close_matches(step, properties, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(properties)}."


def _astray(path: str, reason: str, hint: str | None) -> ToolDefinitionError:
    return ToolDefinitionError(f"the idempotency_key {path!r} cannot be: {reason}.", hint=hint)


def _resolved(node: Any, schema: JsonObject) -> Any:
    definitions: Any = schema.get("$defs", {})
    while "$ref" in node:
        node = definitions[node["$ref"].removeprefix("#/$defs/")]
    return node
