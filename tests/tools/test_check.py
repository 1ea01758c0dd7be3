"""The full JSON Schema check, and how its problems are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from salvor.errors import JsonRefused, Problem
from salvor.tools.check import SchemaCheck, schema_problems
from salvor.values import JsonObject

CASES: list[tuple[Any, Any, str, str, str]] = [
    ({"type": "integer"}, "x", "", "an integer", 'the text "x"'),
    ({"type": ["integer", "null"]}, True, "", "null or an integer", "true"),
    ({"enum": [1, "a"]}, True, "", '1 or "a"', "true"),
    ({"const": {"a": 1}}, 2, "", '{"a":1}', "2"),
    ({"required": ["a"]}, {}, "/a", "a value (it is required)", "nothing"),
    (
        {"properties": {"b": {}}, "additionalProperties": False},
        {"a~/b": 1},
        "/a~0~1b",
        "no such field",
        "1",
    ),
    ({"pattern": "^a"}, "b", "", "text that matches ^a", 'the text "b"'),
    ({"minLength": 2}, "b", "", "text of at least 2 characters", 'the text "b"'),
    ({"maxLength": 1}, "bb", "", "text of at most 1 characters", 'the text "bb"'),
    ({"minimum": 2}, 1, "", "a number of at least 2", "1"),
    ({"exclusiveMaximum": 2}, 2, "", "a number below 2", "2"),
    ({"maxItems": 1}, [1, 2], "", "an array of at most 1 items", "an array of 2 items"),
    ({"minProperties": 1}, {}, "", "an object of at least 1 fields", "an object"),
    ({"multipleOf": 2}, 3, "", "a multiple of 2", "3"),
    ({"uniqueItems": True}, [1, 1], "", "items that all differ", "an array of 2 items"),
    ({"items": False}, [1], "/0", "nothing here", "1"),
    ({"format": "date"}, "x", "", "a date, such as 2026-01-31", 'the text "x"'),
    ({"format": "hostname"}, "-", "", "text in the format hostname", 'the text "-"'),
    ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, "x", "", "null or an integer", ""),
    ({"oneOf": [{"items": {"type": "null"}}, {"type": "null"}]}, [1], "/0", "null", "1"),
]


@pytest.mark.parametrize(("schema", "value", "place", "expected", "came"), CASES)
def test_a_problem_is_told_in_plain_words(
    schema: Any, value: Any, place: str, expected: str, came: str
) -> None:
    (problem,) = SchemaCheck(schema).problems(value)

    assert (problem.pointer, problem.expected) == (place, expected)
    assert came in problem.got


def test_other_keywords_are_told_in_the_checkers_words() -> None:
    (problem,) = schema_problems({"not": {"type": "integer"}}, 5)
    assert "does not hold" in problem.expected
    (problem,) = schema_problems({"oneOf": [{"type": "integer"}, {"minimum": 1}]}, 5)
    assert "does not hold" in problem.expected


def test_all_problems_come_in_order_one_a_place() -> None:
    schema: Any = {
        "properties": {"b": {"type": "integer"}, "a": {"minLength": 3, "pattern": "^x"}},
        "required": ["c"],
    }

    assert schema_problems(schema, {"a": "b", "b": "c"}) == (
        Problem(
            pointer="/a",
            expected="text of at least 3 characters or text that matches ^x",
            got='the text "b"',
        ),
        Problem(pointer="/b", expected="an integer", got='the text "c"'),
        Problem(pointer="/c", expected="a value (it is required)", got="nothing"),
    )


def test_what_fits_has_no_problems() -> None:
    assert schema_problems({"type": "integer"}, 10**40) == ()
    assert schema_problems({"type": "integer"}, 3.0) == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strin"},
        {"$ref": "https://elsewhere.example/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/$defs/Missing"},
        {"pattern": "("},
        {"pattern": "(?=a)"},
        {"pattern": r"(a)\1"},
        {"minimum": "x"},
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: Any) -> None:
    with pytest.raises(JsonRefused, match="the JSON Schema cannot be used"):
        SchemaCheck(schema)


def test_nothing_is_fetched_even_when_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"type": "integer"}')

    with pytest.raises(JsonRefused, match="lies outside the schema"):
        SchemaCheck({"$ref": (tmp_path / "other.json").as_uri()})


def test_a_pattern_that_would_take_for_ever_takes_linear_time() -> None:
    assert schema_problems({"pattern": "^(a+)+$"}, "a" * 50_000 + "b")


def test_long_values_are_cut_in_what_came() -> None:
    (problem,) = schema_problems({"type": "integer"}, "x" * 1000)

    assert len(problem.got) < 80


def test_a_schema_that_is_compiled_later_is_checked_as_it_was() -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    check = SchemaCheck.later(schema)
    schema["properties"] = {"n": {"type": "string"}}

    assert check.problems({"n": 1}) == ()
    assert check.is_valid({"n": 2})
    assert [problem.pointer for problem in check.problems({"n": "x"})] == ["/n"]
