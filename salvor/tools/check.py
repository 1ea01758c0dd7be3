"""The full JSON Schema check: draft 2020-12, formats on, nothing is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from salvor.errors import JsonRefused, Problem
from salvor.tools.wording import FORMATS, PATTERNS, TYPES, anything_of, got
from salvor.values import JsonObject, JsonValue, canonical_json, parse_object, pointer


class SchemaCheck:
    """A compiled JSON Schema.

    Raises:
        JsonRefused: when the schema is not one, points outside itself, or holds a pattern
            that cannot be matched in linear time.
    """

    __slots__ = ("_validator", "is_valid")

    is_valid: Callable[[Any], bool]

    def __init__(self, schema: JsonObject) -> None:
        self._compile(schema)

    @classmethod
    def later(cls, schema: JsonObject) -> SchemaCheck:
        """A schema that is sure to be one, as it is now, compiled when it is first needed."""
        check = cls.__new__(cls)
        text = json.dumps(schema)

        def first(value: JsonValue) -> bool:
            check._compile(json.loads(text))
            return check.is_valid(value)

        check.is_valid = first
        return check

    def _compile(self, schema: JsonObject) -> None:
        import jsonschema_rs

        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                schema,
                validate_formats=True,
                retriever=_refuse,
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
            reason = str(error).partition("\n")[0]
            raise JsonRefused(f"the JSON Schema cannot be used: {reason}.") from None
        self.is_valid = self._validator.is_valid

    def problems(self, value: JsonValue) -> tuple[Problem, ...]:
        """Everything that is wrong with a value; empty when it fits."""
        if self.is_valid(value):
            return ()
        found = [
            problem for error in self._validator.iter_errors(value) for problem in _told(error)
        ]
        return merged(found)


def schema_problems(schema: JsonObject, value: JsonValue) -> tuple[Problem, ...]:
    """Everything that is wrong with a value by a schema.

    Raises:
        JsonRefused: when the schema itself cannot be used.
    """
    return _compiled(canonical_json(schema)).problems(value)


@lru_cache(maxsize=128)
def _compiled(schema: str) -> SchemaCheck:
    return SchemaCheck(parse_object(schema, what="the JSON Schema", max_bytes=64 * 1024 * 1024))


def merged(problems: list[Problem]) -> tuple[Problem, ...]:
    """One problem a place, in order of the places; what was expected is joined by "or"."""
    places: dict[str, tuple[str, list[str]]] = {}
    for problem in problems:
        places.setdefault(problem.pointer, (problem.got, []))[1].append(problem.expected)
    return tuple(
        Problem(pointer=place, expected=anything_of(expected), got=came)
        for place, (came, expected) in sorted(places.items())
    )


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} lies outside the schema")


def _told(error: Any) -> list[Problem]:
    place = ""
    for step in error.instance_path:
        place = pointer(place, step)
    kind = error.kind
    name = kind.name
    if name in ("anyOf", "oneOf") and any(kind.context):
        return _arms(kind.context, place)
    if name == "required":
        return [Problem(pointer=pointer(place, kind.property), expected=REQUIRED, got="nothing")]
    if name == "additionalProperties":
        return [
            Problem(
                pointer=pointer(place, extra),
                expected="no such field",
                got=got(error.instance.get(extra)),
            )
            for extra in kind.unexpected
        ]
    return [Problem(pointer=place, expected=_expected(name, kind, error), got=got(error.instance))]


REQUIRED = "a value (it is required)"


def _arms(context: Any, place: str) -> list[Problem]:
    # The arm that got furthest is the one that was meant; arms that stopped at the value
    # itself are all named.
    arms = [[problem for error in arm for problem in _told(error)] for arm in context]
    deeper = [arm for arm in arms if all(problem.pointer != place for problem in arm)]
    return [problem for arm in deeper[:1] or arms for problem in arm]


def _expected(name: str, kind: Any, error: Any) -> str:
    if name == "type":
        return anything_of([TYPES[one] for one in kind.types])
    if name == "enum":
        return anything_of([canonical_json(option) for option in kind.options])
    if name == "const":
        return canonical_json(kind.expected_value)
    if name == "format":
        return FORMATS.get(kind.format, f"text in the format {kind.format}")
    if name == "pattern":
        return PATTERNS.get(kind.pattern) or f"text that matches {kind.pattern}"
    if name in _LIMITS:
        return _LIMITS[name].format(kind.limit)
    if name == "multipleOf":
        return f"a multiple of {kind.multiple_of}"
    if name == "uniqueItems":
        return "items that all differ"
    if name == "contentEncoding":
        return f"text in {kind.content_encoding}"
    if name == "falseSchema":
        return "nothing here"
    return f"a value for which this does not hold: {error.message}"


_LIMITS = {
    "minimum": "a number of at least {}",
    "maximum": "a number of at most {}",
    "exclusiveMinimum": "a number above {}",
    "exclusiveMaximum": "a number below {}",
    "minLength": "text of at least {} characters",
    "maxLength": "text of at most {} characters",
    "minItems": "an array of at least {} items",
    "maxItems": "an array of at most {} items",
    "minProperties": "an object of at least {} fields",
    "maxProperties": "an object of at most {} fields",
}
