"""Python values of a direct call, as JSON arguments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, computed_field

from salvor.errors import ArgumentsRefused, JsonRefused
from salvor.tools.function import function_tool
from tests.support.described import built
from tests.support.taking import READ, Mark, Point, problems, taking


def test_binding_turns_values_into_json_exactly_as_they_were_passed() -> None:
    def take(
        a: int, /, b: Point, *, c: set[str], d: bytes, e: Mark, f: datetime, g: int = 3
    ) -> None: ...

    tool = function_tool(take, meta=READ)
    raw = tool.bind(
        (1, Point(x=1)),
        {
            "c": {"b", "a"},
            "d": b"\xfb\xff",
            "e": Mark.DOT,
            "f": datetime.fromisoformat("2026-01-31T12:00:00+01:00"),
        },
    )

    assert raw == {
        "a": 1,
        "b": {"x": 1},
        "c": ["a", "b"],
        "d": "+/8=",
        "e": "dot",
        "f": "2026-01-31T12:00:00+01:00",
    }
    assert tool.prepare(raw).values["d"] == b"\xfb\xff"


class Line(BaseModel):
    count: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def twice(self) -> int:
        return self.count * 2


@pytest.mark.parametrize(
    ("annotation", "value", "bound"),
    [
        (Line, Line(count=2), {"count": 2}),
        (list[Line] | None, [Line(count=2)], [{"count": 2}]),
        (dict[str, Line], {"a": Line(count=2)}, {"a": {"count": 2}}),
    ],
)
def test_what_a_model_computes_is_not_passed_but_computed_again(
    annotation: Any, value: Any, bound: Any
) -> None:
    tool = taking(annotation)

    assert tool.bind((value,), {}) == {"value": bound}
    assert tool.prepare({"value": bound}).values == {"value": value}


class Noted(BaseModel):
    x: int
    note: str = Field(default="", exclude=True)


def test_a_field_that_its_model_leaves_out_is_not_lost_without_a_word() -> None:
    def run(values: list[Noted]) -> None: ...

    found = built(run)

    assert found.bind(([Noted(x=1)],), {}) == {"values": [{"x": 1}]}
    with pytest.raises(JsonRefused, match=r"'values' is not JSON: Noted.note was set"):
        found.bind(([Noted(x=1, note="mine")],), {})


def test_binding_refuses_what_python_would() -> None:
    with pytest.raises(ArgumentsRefused, match="at most 1 positional arguments, got 2"):
        taking(int).bind((1, 2), {})
    with pytest.raises(ArgumentsRefused, match="/value: expected one value, got two"):
        taking(int).bind((1,), {"value": 1})


def test_binding_names_the_argument_that_has_no_json_form() -> None:
    with pytest.raises(JsonRefused, match="argument 'value' is not JSON: a object"):
        taking(Any).bind((object(),), {})
    with pytest.raises(ArgumentsRefused, match="/other: expected no argument of that name"):
        taking(Any).bind((), {"other": object()})


def test_an_unknown_name_is_left_to_be_reported_with_the_rest() -> None:
    tool = taking(int)

    assert [one.pointer for one in problems(tool, tool.bind(("x",), {"valeu": 1}))] == [
        "/valeu",
        "/value",
    ]


def test_a_type_with_a_serialiser_of_its_own_can_be_bound() -> None:
    from pydantic import PlainSerializer, PlainValidator

    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    amount = Annotated[
        Money,
        PlainValidator(lambda value: Money(int(value)), json_schema_input_type=int),
        PlainSerializer(lambda money: money.cents, return_type=int),
    ]
    tool = taking(amount)
    raw = tool.bind((Money(5),), {})

    assert raw == {"value": 5}
    assert tool.prepare(raw).values["value"].cents == 5
