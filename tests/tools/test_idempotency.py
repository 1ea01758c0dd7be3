"""Declared keys: typed, in an object of their own, and never degraded to "no key"."""

from __future__ import annotations

import json
from datetime import date
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from salvor.errors import ArgumentsRefused, ToolDefinitionError
from salvor.tools.context import Context
from salvor.tools.contract import ToolMeta
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import JsonObject, canonical_json


class Order(BaseModel):
    id: str | int | float | bool | None
    lines: list[str] = []
    paid: bool = False
    parent: Order | None = None
    free: dict[str, Any] = {}


def pay(claim: Any, order: Order, day: date, note: str = "") -> None:
    """Pay."""


def keyed(key: Any) -> FunctionTool:
    return function_tool(pay, meta=ToolMeta(effect="write", idempotency_key=key))


def of(key: Any, **changes: Any) -> str | None:
    arguments = {"claim": "c", "order": {"id": "o"}, "day": "2026-01-31"} | changes
    return keyed(key).key(arguments)


def test_no_declaration_gives_no_key() -> None:
    assert of(None) is None


def test_a_key_is_the_canonical_text_of_an_object_of_its_own() -> None:
    assert of("claim") == '{"claim":"c"}'
    assert of("order.id") == '{"order.id":"o"}'
    assert of(("order.id", "claim")) == '{"claim":"c","order.id":"o"}'


def test_a_key_is_typed() -> None:
    assert of("claim", claim=5) != of("claim", claim="5")
    assert of("claim", claim=5) == of("claim", claim=5.0)
    assert of("claim", claim=5) != of("claim", claim=5.5)
    assert of("claim", claim="a") != of("claim", claim="A")


def test_what_is_not_in_the_key_does_not_matter() -> None:
    assert of("claim", note="x") == of("claim", note="y")


def test_no_field_can_pose_as_another() -> None:
    one = of(("claim", "order.id"), claim='a","order.id":"b', order={"id": "c"})
    other = of(("claim", "order.id"), claim="a", order={"id": 'b","order.id":"c'})

    assert one != other


@pytest.mark.parametrize("value", [None, True, False, "", [], {}, ["a"], {"a": 1}])
def test_what_identifies_nothing_is_refused(value: Any) -> None:
    with pytest.raises(ArgumentsRefused, match=r"/claim: .* for the idempotency key 'claim'"):
        of("claim", claim=value)


def test_a_missing_field_names_path_place_and_the_keys_there() -> None:
    with pytest.raises(ArgumentsRefused) as caught:
        of("order.free.id", order={"id": "o", "free": {"b": 1, "a": 1}})

    assert caught.value.problems[0].pointer == "/order/free/id"
    assert "'order.free.id'" in caught.value.problems[0].expected
    assert caught.value.hint == "The keys present at /order/free are: a, b."


def test_a_path_through_something_else_is_refused() -> None:
    with pytest.raises(ArgumentsRefused, match="/order/parent: expected an object"):
        of("order.parent.id", order={"id": "o", "parent": None})


def test_a_key_function_sees_a_copy_of_the_arguments() -> None:
    def spoil(arguments: dict[str, Any]) -> Any:
        arguments["order"]["id"] = "spoilt"
        return "k"

    arguments: JsonObject = {"claim": "c", "order": {"id": "o"}, "day": "2026-01-31"}

    assert keyed(spoil).key(arguments) == '{"key":"k"}'
    assert arguments["order"] == {"id": "o"}


@pytest.mark.parametrize(
    ("result", "key"), [("a", '{"key":"a"}'), (5.0, '{"key":5}'), (("a", 1), '{"key":["a",1]}')]
)
def test_a_key_function_gives_a_scalar_or_a_tuple(result: Any, key: str) -> None:
    assert of(lambda arguments: result) == key


@pytest.mark.parametrize("result", [None, True, "", (), ("a", None), ["a"], {"a": 1}, object()])
def test_a_key_function_that_gives_no_key_refuses_the_call(result: Any) -> None:
    with pytest.raises(ArgumentsRefused):
        of(lambda arguments: result)


def test_a_key_function_that_raises_refuses_the_call() -> None:
    with pytest.raises(ArgumentsRefused, match="KeyError: 'nope'"):
        of(lambda arguments: arguments["nope"])


def test_a_path_begins_with_a_parameter_and_not_with_its_alias() -> None:
    def move(origin: Annotated[str, Field(alias="from")]) -> None:
        """Move."""

    meta = ToolMeta(effect="write", idempotency_key="origin")

    assert function_tool(move, meta=meta).key({"from": "a"}) == '{"origin":"a"}'


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("note", "names no required parameter 'note'"),
        ("order.idd", "there is no field 'idd'"),
        ("order.paid", "a key has to be text that is not empty, or a number"),
        ("order.lines", "a key has to be text"),
        ("day.month", "string values have no fields"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused_when_registering(path: str, reason: str) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        keyed(path)

    assert reason in caught.value.reason
    assert str(caught.value.where).endswith(" pay")


def test_the_nearest_field_is_suggested() -> None:
    with pytest.raises(ToolDefinitionError, match="Did you mean 'id'"):
        keyed("order.idd")
    with pytest.raises(ToolDefinitionError, match="There are: id, lines, paid, parent, free"):
        keyed("order.zzz")


def test_a_path_into_what_the_schema_leaves_open_is_taken() -> None:
    assert of("order.free.deep.id", order={"id": 1, "free": {"deep": {"id": "x"}}})
    assert of("claim.id", claim={"id": 3}) == '{"claim.id":3}'


def test_a_key_on_a_context_or_dependency_is_refused() -> None:
    def move(ctx: Context, name: str) -> None:
        """Move."""

    with pytest.raises(ToolDefinitionError, match="required parameters are: name"):
        function_tool(move, meta=ToolMeta(effect="write", idempotency_key="ctx"))


@given(
    st.text()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none()
    | st.lists(st.integers(), max_size=1)
)
def test_e1_a_key_of_one_field_is_written_like_any_other(value: Any) -> None:
    @tool(effect="write", idempotency_key="a")
    def one(a: Any) -> None:
        """Do."""

    @tool(effect="write", idempotency_key=("a", "b"))
    def two(a: Any, b: str) -> None:
        """Do."""

    def key(called: Any, arguments: dict[str, Any]) -> Any:
        try:
            found = function_tool(called).key(arguments)
        except ArgumentsRefused:
            return None
        return json.loads(str(found))

    alone, beside = key(one, {"a": value}), key(two, {"a": value, "b": "x"})

    assert (alone is None) is (beside is None)
    if alone is not None:
        assert canonical_json({**alone, "b": "x"}) == canonical_json(beside)
        assert function_tool(one).key({"a": value}) == canonical_json(alone)


def test_e1_a_path_is_not_mistaken_for_a_field_with_a_dot() -> None:
    @tool(effect="write", idempotency_key="order.id")
    def pay(order: dict[str, Any]) -> None:
        """Pay."""

    assert function_tool(pay).key({"order": {"id": 5}, "order.id": 7}) == '{"order.id":5}'
