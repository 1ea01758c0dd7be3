"""What models and clients send, and shapes that other systems bend on the way."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from decimal import Decimal
from typing import Any, Literal, NotRequired
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, Json
from typing_extensions import TypedDict

from salvor.tools.schema import ValueType
from salvor.values import canonical_json
from tests.support.described import built, properties
from tests.support.taking import problems, taking


@pytest.mark.parametrize("annotation", [str, str | None, str | int, str | list[int], Any])
@pytest.mark.parametrize("text", ["123", "null", "true", "[1, 2]", '{"a": 1}', "", " ", "a\x00b"])
def test_text_that_looks_like_something_else_stays_text(annotation: Any, text: str) -> None:
    prepared = taking(annotation).prepare({"value": text})

    assert prepared.values == {"value": text}
    assert prepared.arguments == {"value": text}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int | None, "null"),
        (UUID, '"12345678-1234-5678-1234-567812345678"'),
        (bool, "false"),
        (bool, 0),
        (bool, ""),
        (int, True),
        (int, 5.5),
        (int, "5 "),
        (int, "0x5"),
        (int, "1_000"),
        (int, "\u0665"),
        (float, "Infinity"),
        (float, "nan"),
        (Decimal, True),
        (Decimal, "NaN"),
        (Decimal, "1_0"),
        (timedelta, 5),
        (list[int], "1, 2"),
        (list[int], "{}"),
        (list[int], {"0": 1}),
        (dict[str, int], [["a", 1]]),
        (list[str], "a"),
        (tuple[int, str], [1]),
        (tuple[int, str], [1, "a", 2]),
        (set[int], [1, 1]),
        (Literal["a", 1, None], True),
        (Literal["a", 1, None], "1"),
    ],
)
def test_what_only_resembles_the_type_is_refused(annotation: Any, value: Any) -> None:
    tool = taking(annotation)

    assert not tool.input.check.is_valid({"value": value})
    assert problems(tool, {"value": value})[0].pointer.startswith("/value")


def test_a_number_keeps_every_digit() -> None:
    digits = "9" * 400
    prepared = taking(int).prepare({"value": digits})

    assert prepared.text == f'{{"value":{digits}}}'
    assert prepared.values["value"] == int(digits)


def test_a_decimal_is_what_was_written() -> None:
    prepared = taking(Decimal).prepare({"value": "1.10"})

    assert str(prepared.values["value"]) == "1.10"
    assert prepared.text == '{"value":"1.10"}'


class Move(BaseModel):
    move: int
    note: str = ""


def test_one_model_is_sent_under_its_parameter_and_not_flat() -> None:
    def run(move: Move) -> None: ...

    found = built(run)

    assert found.prepare({"move": {"move": 1}}).values == {"move": Move(move=1)}
    assert [p.pointer for p in problems(found, {"move": 1, "note": "x"})] == ["/move", "/note"]


@dataclasses.dataclass
class Basket:
    items: list[int] = dataclasses.field(default_factory=list)
    name: str = dataclasses.field(default="x", kw_only=True)


def test_a_dataclass_builds_what_is_left_out() -> None:
    tool = taking(Basket)
    first, second = (tool.prepare({"value": {}}).values["value"] for _ in range(2))

    assert (first, second) == (Basket(), Basket())
    assert first.items is not second.items


class Partly(TypedDict):
    a: int
    b: NotRequired[int]


def test_a_key_that_is_not_required_is_absent_and_not_null() -> None:
    tool = taking(Partly)

    assert tool.prepare({"value": {"a": 1}}).values["value"] == {"a": 1}
    assert problems(tool, {"value": {"a": 1, "b": None}})[0].pointer == "/value/b"


class Dated(BaseModel):
    from_: int = Field(alias="from")


def test_an_alias_is_the_same_in_and_out() -> None:
    output = ValueType(list[Dated], where="x")

    assert taking(Dated).prepare({"value": {"from": 1}}).arguments == {"value": {"from": 1}}
    assert output.encode([Dated.model_validate({"from": 1})]) == [{"from": 1}]
    assert output.decode([{"from": 1}])[0].from_ == 1


@pytest.mark.parametrize("value", [[], [1], [[]], [[1]]])
def test_a_short_list_is_still_a_list(value: Any) -> None:
    output = ValueType(list[Any], where="x")

    assert output.decode(output.encode(value)) == value


def test_text_of_json_by_its_own_type_is_parsed_for_the_body_only() -> None:
    prepared = taking(Json[list[int]]).prepare({"value": "[1, 2]"})

    assert prepared.values == {"value": [1, 2]}
    assert prepared.arguments == {"value": "[1, 2]"}


def named_point(module: str, field: str) -> Any:
    scope: dict[str, Any] = {"__name__": module, "BaseModel": BaseModel}
    exec(f"class Point(BaseModel):\n    {field}: int", scope)
    return scope["Point"]


def test_types_of_one_name_keep_apart_in_any_order() -> None:
    left, right = named_point("shop.left", "x"), named_point("shop.right", "y")

    def one(a: Any, b: Any) -> None: ...
    def other(b: Any, a: Any) -> None: ...

    for function in (one, other):
        function.__annotations__.update(a=left, b=right)
    first, second = built(one).input_schema, built(other).input_schema

    assert canonical_json(first["$defs"]) == canonical_json(second["$defs"])
    assert properties(one) == properties(other)
    assert len(first["$defs"]) == 2  # type: ignore[arg-type]


def test_definitions_are_no_ones_to_change_for_another_tool() -> None:
    def one(a: Move) -> None: ...
    def other(a: Move) -> None: ...

    first = built(one)
    schema: Any = first.input_schema
    schema["$defs"]["Move"]["properties"].clear()

    assert "move" in built(other).input_schema["$defs"]["Move"]["properties"]  # type: ignore[index,call-overload,operator]
    assert first.prepare({"a": {"move": 1}}).arguments == {"a": {"move": 1}}
