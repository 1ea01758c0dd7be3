"""The argument pipeline: strict, then repaired by place, then checked by the published schema."""

from __future__ import annotations

import warnings
from datetime import date, datetime, time
from decimal import Decimal
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NaiveDatetime,
    StrictInt,
    field_validator,
)

from salvor.errors import ArgumentsRefused, JsonRefused, Problem
from salvor.tools.function import function_tool
from salvor.values import MAX_ARGUMENT_BYTES, JsonObject, canonical_json, parse_json
from tests.support.taking import READ, Mark, Point, Rank, problems, taking


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    x: int


def got(annotation: Any, value: Any) -> Any:
    return taking(annotation).prepare({"value": value}).values["value"]


def canonical(annotation: Any, value: Any) -> Any:
    return taking(annotation).prepare({"value": value}).arguments["value"]


def refused(annotation: Any, value: Any) -> Problem:
    (problem,) = problems(taking(annotation), {"value": value})
    return problem


REPAIRS: list[tuple[Any, Any, Any]] = [
    (int, "5", 5),
    (int, "-0", 0),
    (int, 3.0, 3),
    (int, "3.0", 3),
    (int, "9007199254740993", 9007199254740993),
    (int | None, "5", 5),
    (float, "1.5", 1.5),
    (float, "1e3", 1000.0),
    (float, "5", 5),
    (int | float, "5", 5),
    (int | float, "5.5", 5.5),
    (list[int], "[1, 2]", [1, 2]),
    (list[int], '["1", 2.0]', [1, 2]),
    (list[int], ["1", 2, 3.0], [1, 2, 3]),
    (set[int], "[1]", [1]),
    (tuple[int, str], '[1, "a"]', [1, "a"]),
    (dict[str, int], '{"a": "1"}', {"a": 1}),
    (dict[str, int] | None, ' {"a": 1}', {"a": 1}),
    (dict[str, int] | list[int], "[1]", [1]),
    (Point, '{"x": "1"}', {"x": 1}),
    (list[Point], [{"x": "1"}, {"x": 2.0}], [{"x": 1}, {"x": 2}]),
    (dict[str, list[int]], {"a": ["1"]}, {"a": [1]}),
]


@pytest.mark.parametrize(("annotation", "sent", "kept"), REPAIRS)
def test_what_models_send_is_repaired_where_it_fails(annotation: Any, sent: Any, kept: Any) -> None:
    assert canonical_json(canonical(annotation, sent)) == canonical_json(kept)


UNTOUCHED: list[tuple[Any, Any]] = [
    (str, '{"k": 1}'),
    (str, "[1]"),
    (str, "5"),
    (str | None, "[1, 2]"),
    (str | int, "5"),
    (str | list[int], "[1]"),
    (Any, "5"),
    (float, 3),
    (float, 3.0),
    (int | float, 3.0),
    (Decimal, "1.50"),
    (Literal["5", 5], "5"),
    (dict[int, str], {"1": "a"}),
]


@pytest.mark.parametrize(("annotation", "sent"), UNTOUCHED)
def test_what_fits_is_kept_as_it_came(annotation: Any, sent: Any) -> None:
    assert canonical_json(canonical(annotation, sent)) == canonical_json(sent)


REFUSED: list[tuple[Any, Any]] = [
    *((int, value) for value in (True, False, 3.7, " 5 ", "5 ", "05", "+5", "0x5", "5_0", "", "५")),
    *((int, value) for value in ("1e3", "true", None, [5], {"a": 1}, "9" * 5000)),
    *((float, value) for value in (True, "NaN", "Infinity", "1e999", "", ".5", "1.", None)),
    *((bool, value) for value in (0, 1, "true", "false", 1.0, None)),
    *((str, value) for value in (5, True, None, ["a"])),
    *((list[int], value) for value in ("1,2", "[1,", '{"a": 1}', '"[1]"', [True], "[true]", 1)),
    (Point, "[1]"),
    (Point, {"x": True}),
    (StrictInt, "5"),
    (StrictInt, 3.0),
    (Annotated[int, Field(ge=10)], "5"),
    (Literal[1, "a"], True),
    (Literal[1], "1"),
    (Mark, True),
    (Mark, "1"),
    (Rank, True),
    (Rank, "1"),
    (datetime, "5"),
    (datetime, 5),
    (datetime, "2026-01-31"),
    (date, "2026-01-31T00:00:00"),
    (date, "2026-02-30"),
    (time, "25:00:00"),
    (UUID, "12345678123456781234567812345678"),
    (dict[int, str], {"x": "a"}),
    (set[int], [1, 1]),
    (None, 0),
]


@pytest.mark.parametrize(("annotation", "sent"), REFUSED)
def test_what_does_not_fit_is_refused(annotation: Any, sent: Any) -> None:
    assert problems(taking(annotation), {"value": sent})


def test_the_exact_integer_arrives() -> None:
    assert got(int, 9007199254740993) == 9007199254740993
    assert got(int, "12345678901234567890123456789") == 12345678901234567890123456789


@pytest.mark.parametrize("annotation", [int, float, int | None, list[int]])
@pytest.mark.parametrize("digits", ["9007199254740993", "-9007199254740993", "9" * 40])
def test_the_exact_integer_arrives_however_it_is_written(annotation: Any, digits: str) -> None:
    for written in (digits, f"{digits}.0", f"{digits}.000"):
        sent = f"[{written}]" if annotation == list[int] else written
        text = f'{{"value":{sent}}}'

        assert taking(annotation).prepare_text(text).text == text.replace(written, digits)
        assert parse_json(text) == parse_json(text.encode())


@pytest.mark.parametrize("written", ["1234567890123456.0", "9007199254740993.5", "1e300", "1.0"])
def test_a_number_stays_a_float_where_no_digit_is_lost(written: str) -> None:
    value = taking(float).prepare_text(f'{{"value": {written}}}').arguments["value"]

    assert type(value) is float
    assert value == float(written)


def test_values_arrive_as_the_declared_types() -> None:
    assert got(Point, {"x": 1}) == Point(x=1)
    assert got(Mark, "dot") is Mark.DOT
    assert got(Rank, 2) is Rank.HIGH
    assert got(set[int], [1, 2]) == {1, 2}
    assert got(tuple[int, str], [1, "a"]) == (1, "a")
    assert got(bytes, "aGk=") == b"hi"
    assert got(dict[int, str], {"1": "a"}) == {1: "a"}
    assert got(time, "12:30:00") == time(12, 30)
    assert got(datetime, "2026-01-31T12:00:00Z").isoformat() == "2026-01-31T12:00:00+00:00"


def test_a_naive_instant_is_refused_with_what_to_write() -> None:
    problem = refused(datetime, "2026-01-31T12:00:00")

    assert problem.pointer == "/value"
    assert "with a time zone (RFC 3339), such as 2026-01-31T12:00:00Z" in problem.expected


def test_a_naive_type_takes_no_zone() -> None:
    assert got(NaiveDatetime, "2026-01-31T12:00:00") == datetime(2026, 1, 31, 12)  # noqa: DTZ001
    assert refused(NaiveDatetime, "2026-01-31T12:00:00Z").pointer == "/value"


def everything(
    claim_id: str, amount: int, places: list[Point], level: Literal["low", "high"] = "low"
) -> None:
    """Do."""


TOOL = function_tool(everything, meta=READ)


def test_all_problems_are_told_at_once() -> None:
    raw: JsonObject = {
        "claim_id": 5,
        "amount": True,
        "places": [{"x": "one"}, {"y": 1, "z": 2}, 3],
        "level": "mid",
        "levl": "low",
    }

    assert [
        (problem.pointer, problem.expected, problem.got) for problem in problems(TOOL, raw)
    ] == [
        ("/amount", "an integer", "true"),
        ("/claim_id", "a string", "5"),
        ("/level", "'low' or 'high'", 'the text "mid"'),
        ("/levl", "no argument of that name (did you mean 'level'?)", 'the text "low"'),
        ("/places/0/x", "an integer", 'the text "one"'),
        ("/places/1/x", "a value (it is required)", "nothing"),
        ("/places/1/z", "no such field", "2"),
        ("/places/2", "an object", "3"),
    ]


def test_what_could_be_repaired_is_no_problem() -> None:
    raw: JsonObject = {"claim_id": "a", "amount": "5", "places": '[{"x": "q"}]'}

    assert [problem.pointer for problem in problems(TOOL, raw)] == ["/places/0/x"]


def test_what_the_schema_takes_is_not_repaired_for_another_arm_of_a_union() -> None:
    sent = [5.0, "[true]"]

    assert got(tuple[int, str] | list[list[bool]], sent) == (5, "[true]")
    assert canonical(list[list[bool]] | tuple[int, str], sent) == [5, "[true]"]


def test_an_unknown_argument_without_a_near_name_is_refused_too() -> None:
    raw: JsonObject = {"claim_id": "a", "amount": 1, "places": [], "dry_run": True}

    assert problems(TOOL, raw)[0].expected == "no argument of that name"


def test_a_tool_without_parameters_refuses_every_argument() -> None:
    def now() -> None: ...

    [problem] = problems(function_tool(now, meta=READ), {"zone": "UTC"})

    assert problem == Problem(
        pointer="/zone", expected="no argument of that name", got='the text "UTC"'
    )


def test_a_refusal_reads_as_one_sentence() -> None:
    with pytest.raises(ArgumentsRefused) as caught:
        TOOL.prepare({"claim_id": "a", "places": []})

    assert str(caught.value) == (
        "everything refused its arguments: /amount: expected a value (it is required), got nothing"
    )


def test_the_arm_of_a_union_that_got_further_is_the_one_reported() -> None:
    assert refused(dict[str, int] | list[int], ["x"]) == Problem(
        pointer="/value/0", expected="an integer", got='the text "x"'
    )
    assert refused(int | list[int], "x").expected == "an integer or an array"


def test_a_key_that_looks_like_an_arm_is_still_found() -> None:
    assert refused(dict[str, int] | None, {"int": "x"}).pointer == "/value/int"
    assert canonical(dict[str, int | None], {"int": "5"}) == {"int": 5}
    assert canonical(int | dict[str, int], {"int": "5"}) == {"int": 5}

    assert refused(str | dict[str, int], {"str": "x"}).expected == "an integer"


def test_models_that_say_so_stay_open() -> None:
    assert canonical(Open, {"x": 1, "more": [1]}) == {"x": 1, "more": [1]}
    assert got(Open, {"x": 1, "more": 2}).more == 2


def test_null_for_a_parameter_that_is_meant_to_be_omitted_omits_it() -> None:
    tool = taking(int, 5)

    assert tool.prepare({"value": None}).arguments == {}
    assert problems(taking(int), {"value": None})


def test_null_inside_an_argument_omits_nothing() -> None:
    assert problems(taking(Point, Point(x=1)), {"value": {"x": 1, "y": None}})[0].got == "null"


def test_what_cannot_be_repaired_keeps_nothing_else_from_it() -> None:
    def add(a: float, b: int) -> None: ...

    tool = function_tool(add, meta=READ)

    assert [one.pointer for one in problems(tool, {"a": "1e999", "b": "5"})] == ["/a"]


def test_repaired_arguments_are_checked_by_the_schema_too() -> None:
    def add(a: int, when: datetime) -> None: ...

    tool = function_tool(add, meta=READ)

    assert [one.pointer for one in problems(tool, {"a": "5", "when": "2026-01-31T12:00:00"})] == [
        "/when"
    ]


def test_null_stays_where_the_default_is_none() -> None:
    assert taking(str, None).prepare({"value": None}).arguments == {"value": None}


def test_defaults_are_not_in_the_canonical_form() -> None:
    prepared = TOOL.prepare({"claim_id": "a", "amount": 1, "places": [{"x": 1}]})

    assert prepared.text == '{"amount":1,"claim_id":"a","places":[{"x":1}]}'
    assert set(prepared.values) == {"claim_id", "amount", "places"}


def test_what_came_is_left_as_it_was() -> None:
    raw: JsonObject = {"claim_id": "a", "amount": "1", "places": [{"x": "1"}]}
    before = canonical_json(raw)

    TOOL.prepare(raw)

    assert canonical_json(raw) == before


def test_every_call_gets_values_of_its_own() -> None:
    raw: JsonObject = {"value": [1]}
    tool = taking(list[int])

    tool.prepare(raw).values["value"].append(2)

    assert tool.prepare(raw).values["value"] == [1]


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), "\udcaf", {"\ud800": 1}, object()),
        pytest.param(10**5000, id="too many digits"),
    ],
)
def test_what_is_not_json_is_refused_before_anything(value: Any) -> None:
    with pytest.raises(JsonRefused):
        taking(Any).prepare({"value": value})


def test_endless_nesting_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(JsonRefused):
        taking(Any).prepare({"value": value})


def test_a_repair_that_nests_too_deep_is_refused() -> None:
    text = "[" * 100 + "]" * 100

    assert problems(taking(list[Any]), {"value": text})


def test_arguments_have_a_size_limit() -> None:
    assert problems(taking(str), {"value": "x" * MAX_ARGUMENT_BYTES})[0].got.endswith("bytes")
    assert problems(taking(str), {"value": "ä" * (MAX_ARGUMENT_BYTES // 2)})
    taking(str).prepare({"value": "x" * (MAX_ARGUMENT_BYTES - 12)})


def test_a_check_of_the_author_that_raises_refuses_the_call() -> None:
    class Odd(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def check(cls, value: int) -> int:
            if value == 1:
                raise ValueError("one is odd")
            return 1 // value

    assert "one is odd" in refused(Odd, {"x": 1}).expected
    assert "ZeroDivisionError" in refused(Odd, {"x": 0}).got
    assert "ZeroDivisionError" in refused(Odd, {"x": "0"}).got


def test_a_check_that_raises_where_only_the_lax_reading_gets_refuses_the_call() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what the library says of True, when it takes it at all

        assert refused(IPv4Network, True).expected == "a string"


def test_a_check_that_changes_its_input_does_not_lose_the_place() -> None:
    class Shouting(BaseModel):
        x: int

        @field_validator("x", mode="before")
        @classmethod
        def check(cls, value: Any) -> Any:
            return {"changed": value}

    assert refused(Shouting, {"x": 1}).pointer == "/value/x"
