"""Arguments that come as text: the fast parser differs from the careful one in nothing."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BeforeValidator

from salvor.errors import JsonRefused, SalvorError
from salvor.tools.at_once import flat_object, is_flat, parsed_at_once
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from salvor.values import LONG_WHOLE, canonical_json, parse_object


@tool(effect="read")
def find(text: str = "", number: float | None = None, more: dict[str, Any] | None = None) -> str:
    """Find."""
    return text


FIND = function_tool(find)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**20, max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)
PIECES = st.sampled_from(
    [
        *("{", "}", "[", "]", ":", ",", '"', '"a"', '"b:"', '""', '"\\u003a"', '"\\ud800"', "\\"),
        *("1", "-0", "1.0", "1e5", "1E400", "-", "01", "1.", ".5", "+1", "0x1", "1_0", "NaN"),
        *("Infinity", "-Infinity", "nan", "true", "false", "null", "True", " ", "\t", "\n", "\r"),
        *("\x00", "\x0b", "\u00a0", "\ufeff", "\u2028", "é", "\U0001f600", "'a'", "//", "\x1f"),
    ]
)


@tool(effect="read")
def book(
    seats: int = 1,
    name: str = "",
    window: bool | None = None,
    tags: list[str] | None = None,
    rows: list[list[int]] | None = None,
) -> str:
    """Book a flat thing."""
    return name


BOOK = function_tool(book)
FLAT = SCALARS | st.lists(SCALARS) | st.lists(st.lists(SCALARS))


def careful(text: str) -> tuple[Any, str] | None:
    try:
        value = parse_object(text)
    except JsonRefused:
        return None
    return value, canonical_json(value)


def same(text: str) -> None:
    found = parsed_at_once(text)
    if found is not None:
        value, canonical = found
        expected = careful(text)
        assert expected is not None, text
        assert canonical == expected[1]
        assert repr(value) == repr(expected[0])


@given(OBJECTS, st.booleans(), st.sampled_from([None, 1]))
def test_whatever_is_written_as_json_is_read_alike(
    value: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    same(text)
    if "\\" not in text and not LONG_WHOLE.search(text):
        assert parsed_at_once(text) is not None


@settings(max_examples=3000)
@given(st.lists(PIECES, max_size=14).map("".join), st.booleans())
@example('"a":1,"a":2', True)
@example('"a":1,"b":{"c":1,"c":{"d":":"}}', True)
@example('"a":1,"a":"\\u003a"', True)
@example('"a":NaN', True)
@example('"a":1e999', True)
@example('"a":-0,"b":-0.0', True)
@example('"a":"\x7f"', True)
@example('"a":"\n"', True)
@example('"a":1}x', False)
def test_whatever_is_no_json_is_left_to_the_careful_parser(text: str, within: bool) -> None:
    same("{" + text + "}" if within else "{" + text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '{"a":"\\u003a","b":1,"b":2}',
        '{"text":1,"text":"x"}',
    ],
)
def test_a_member_that_is_named_twice_is_refused(text: str) -> None:
    assert parsed_at_once(text) is None
    with pytest.raises(JsonRefused):
        FIND.prepare_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        '"a"',
        "null",
        '{"a":"\ud800"}',
        "{" * 200,
        '{"a":' + "[" * 200,
        b"{}",
        b"\xff",
    ],
)
def test_what_is_odd_takes_the_careful_way(text: str | bytes) -> None:
    assert parsed_at_once(text) is None


def test_what_is_long_takes_the_careful_way() -> None:
    text = json.dumps({"text": "x" * (300 * 1024)})

    assert parsed_at_once(text) is None
    assert FIND.prepare_text(text).arguments == json.loads(text)


@given(
    st.fixed_dictionaries(
        {}, optional={"text": SCALARS, "number": SCALARS, "more": VALUES, "extra": SCALARS}
    )
)
def test_text_and_object_give_the_same(value: dict[str, Any]) -> None:
    text = json.dumps(value)

    def outcome(prepare: Any, given: Any) -> tuple[str, str]:
        try:
            prepared = prepare(given)
        except SalvorError as error:
            return "refused", str(error)
        return prepared.text, repr(prepared.values)

    assert outcome(FIND.prepare_text, text) == outcome(FIND.prepare, parse_object(text))


def test_bytes_are_text_too() -> None:
    assert FIND.prepare_text(b'{"text":"\xc3\xa9"}').values == {"text": "é"}


def outcomes(found: Any, text: str) -> tuple[Any, Any]:
    """What becomes of a text at once, and in the careful way."""

    def outcome(prepare: Any) -> tuple[str, ...]:
        try:
            prepared = prepare()
        except SalvorError as error:
            return "refused", str(error)
        return prepared.text, repr(prepared.values)

    return (
        outcome(lambda: found.prepare_text(text)),
        outcome(lambda: found.prepare(parse_object(text, what="the arguments"))),
    )


@given(
    st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("seats", "name", "window", "tags", "rows", "extra"), FLAT)
    ),
    st.booleans(),
    st.sampled_from([None, 1]),
)
@example({"seats": 1, "name": "a", "window": True, "tags": ["a"], "rows": [[1]]}, True, None)
def test_flat_arguments_come_out_as_by_the_careful_way(
    value: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    at_once, carefully = outcomes(BOOK, json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    assert at_once == carefully


NAMED = st.sampled_from(['"seats"', '"name"', '"window"', '"tags"', '"rows"', '"odd"', '"a:b"'])
WRITTEN = st.sampled_from(
    [
        *("1", "-0", "1.0", "2.5", "1e2", "1E400", "-1e400", "9007199254740993.0", "01", "NaN"),
        *("true", "null", '"a"', '"1"', '"true"', '"a:b"', '"[1]"', '"\\u003a"', '"{"', '""'),
        *(
            "[]",
            "[1]",
            '["a"]',
            "[1e400]",
            "[[1],[]]",
            '[["a:"]]',
            "{}",
            '{"a":1}',
            '{"a":1,"a":1}',
        ),
        *("[{}]", '["a","b:c"]', "9" * 30, "[[1.0]]", "[[9007199254740993.0]]"),
    ]
)


@settings(max_examples=1500)
@given(st.lists(st.tuples(NAMED, WRITTEN), max_size=5), st.sampled_from(["", " ", "\n\t"]))
@example([('"seats"', "1"), ('"seats"', "2")], "")
@example([('"tags"', '["a"]'), ('"seats"', "1"), ('"tags"', '["b"]')], " ")
@example([('"name"', '"a:b"'), ('"name"', '"a"')], "")
@example([('"seats"', "1E400")], "")
@example([('"rows"', "[[1e400]]")], "")
def test_odd_texts_of_flat_arguments_too(members: list[tuple[str, str]], space: str) -> None:
    text = "{" + ",".join(f"{space}{name}{space}:{held}" for name, held in members) + "}"
    at_once, carefully = outcomes(BOOK, text)
    assert at_once == carefully


@pytest.mark.parametrize("held", ["1e400", '{"a":1}', '{"a":1,"a":2}', "2", "2.0", '["a:b"]'])
def test_a_type_that_takes_anything_is_held_to_what_it_publishes(held: str) -> None:
    @tool(effect="read")
    def lenient(count: Annotated[int, BeforeValidator(lambda _: 1)]) -> int:
        """Count, whatever comes."""
        return count

    found = function_tool(lenient)
    assert found.input.flat

    at_once, carefully = outcomes(found, f'{{"count":{held}}}')
    assert at_once == carefully
    assert (at_once[0] != "refused") == (held in ("2", "2.0"))


def test_flat_arguments_are_read_without_the_careful_parser() -> None:
    assert is_flat(BOOK.input_schema)
    assert BOOK.input.flat
    assert not is_flat(FIND.input_schema)
    assert flat_object('{"seats":2,"tags":["a"]}') == {"seats": 2, "tags": ["a"]}


@pytest.mark.parametrize(
    "odd",
    [
        {},
        True,
        {"type": "number"},
        {"type": "object"},
        {"type": ["string", "null"]},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "array", "items": {"type": "string"}, "prefixItems": [{}]},
        {"anyOf": [{"type": "string"}, {"type": "number"}]},
        {"$ref": "#/$defs/one"},
        {"enum": ["a"]},
    ],
)
def test_a_schema_that_does_not_say_that_it_is_flat_is_not(odd: Any) -> None:
    assert is_flat({"properties": {"a": {"type": "string"}}})
    assert not is_flat({"properties": {"a": {"type": "string"}, "b": odd}})
