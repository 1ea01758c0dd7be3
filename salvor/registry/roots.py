"""The top level of a schema, which every form wants to be an object."""

from __future__ import annotations

from typing import Final

from salvor.errors import Problem
from salvor.registry.schemas import DEFINITIONS, constraints, rebuilt, target
from salvor.tools.wording import got
from salvor.values import JsonObject, JsonValue, pointer

_OBJECT: Final = "a schema of an object"


def argument_root(schema: JsonObject) -> JsonObject | Problem:
    """An input schema whose top level says that it is an object; arguments always are one."""
    made = _opened(schema)
    if isinstance(made, Problem):
        return made
    kinds = made.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        return Problem(pointer="/type", expected=_OBJECT, got=got(kinds))
    return {**made, "type": "object"}


def result_root(schema: JsonObject) -> tuple[JsonObject | Problem, bool]:
    """An output schema whose top level is an object, and whether it had to be wrapped."""
    made = _opened(schema)
    if isinstance(made, Problem) or made.get("type") == "object":
        return made, False
    apart = {key: schema[key] for key in DEFINITIONS if key in schema}
    held = _moved({key: value for key, value in schema.items() if key not in apart}, "")
    return {
        **{key: _moved_all(value) for key, value in apart.items()},
        "type": "object",
        "properties": {"result": held},
        "required": ["result"],
        "additionalProperties": False,
    }, True


def _opened(schema: JsonObject) -> JsonObject | Problem:
    """The schema with a reference at its top level replaced by what it points at, once."""
    seen: set[str] = set()
    made = schema
    while "$ref" in made:
        reference = str(made["$ref"])
        rest = {key: value for key, value in made.items() if key != "$ref"}
        try:
            held = target(schema, reference)
        except (LookupError, TypeError):
            held = None
        if not isinstance(held, dict) or reference in seen or constraints(rest):
            return Problem(pointer="/$ref", expected=_OBJECT, got=f"the reference {reference!r}")
        seen.add(reference)
        made = {**held, **rest}
    return made


def _moved(node: JsonValue, at: str) -> JsonValue:
    """A schema that now stands one level deeper: references to the top follow it."""
    if not isinstance(node, dict):
        return node
    made = rebuilt(node, _moved, at)
    reference = made.get("$ref")
    if isinstance(reference, str) and reference.startswith("#"):
        first = reference.removeprefix("#").split("/")[1:2]
        if not first or first[0] not in DEFINITIONS:
            made["$ref"] = f"#{pointer('/properties', 'result')}{reference.removeprefix('#')}"
    return made


def _moved_all(definitions: JsonValue) -> JsonValue:
    assert isinstance(definitions, dict)
    return {name: _moved(held, "") for name, held in definitions.items()}
