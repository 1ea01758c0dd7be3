"""What holds for all arguments: schema and model agree, and repair is safe."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import (
    Field,
)

from salvor.errors import ArgumentsRefused
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, canonical_json, same_json
from tests.support.taking import Mark, Point, Rank, taking

ORDINARY: list[Any] = [
    *(int, float, str, bool, None, list[int], dict[str, float], int | None, int | float),
    *(str | int, list[Point], Point, Mark, Rank, Literal[1, "a", None], datetime, date, UUID),
    *(dict[str, list[int]] | list[int], tuple[int, str], set[int], Annotated[int, Field(ge=0)]),
    *(Annotated[str, Field(pattern="^a+$")], list[dict[str, int | bool]], bool | int, Decimal),
]


TOOLS = [taking(annotation) for annotation in ORDINARY]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(-5, 5).map(float)
    | st.text(max_size=5)
    | st.sampled_from(["a", "aa", "dot", "5", "1.5", "-0", "[1]", '{"x":1}', "[true]", "true"])
    | st.sampled_from(["2026-01-31T12:00:00Z", "2026-01-31", "2026-01-31T12:00:00"])
    | st.uuids().map(str)
    | st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
)


values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["x", "y", "a", "int"]) | st.text(max_size=3), inner, max_size=3
        )
    ),
    max_leaves=6,
)


def outcome(tool: FunctionTool, raw: JsonObject) -> Any:
    try:
        return tool.prepare(raw)
    except ArgumentsRefused as error:
        assert error.problems
        return None


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TOOLS), values)
def test_what_the_schema_accepts_the_tool_accepts(tool: FunctionTool, value: Any) -> None:
    raw = {"value": value}
    prepared = outcome(tool, raw)

    if tool.input.check.is_valid(raw):
        assert prepared is not None
    if prepared is not None:
        assert tool.input.check.is_valid(prepared.arguments)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TOOLS), values)
def test_the_canonical_form_is_stable(tool: FunctionTool, value: Any) -> None:
    prepared = outcome(tool, {"value": value})

    if prepared is not None:
        again = tool.prepare(json.loads(prepared.text))
        assert again.text == prepared.text == canonical_json(prepared.arguments)


def booleans(value: Any, place: str = "") -> dict[str, bool]:
    if isinstance(value, bool):
        return {place: value}
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        return {}
    found: dict[str, bool] = {}
    for step, item in items:
        found.update(booleans(item, f"{place}/{step}"))
    return found


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(TOOLS), values)
def test_no_boolean_becomes_anything_else(tool: FunctionTool, value: Any) -> None:
    raw = {"value": value}
    prepared = outcome(tool, raw)

    if prepared is not None:
        kept = booleans(prepared.arguments)
        assert all(kept.get(place) is flag for place, flag in booleans(raw).items())


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(TOOLS), values)
def test_what_fits_at_once_is_never_changed(tool: FunctionTool, value: Any) -> None:
    raw = {"value": value}
    try:
        tool.input.validate(canonical_json(raw), strict=True)
    except ValueError:
        return
    prepared = outcome(tool, raw)

    assert prepared is None or same_json(prepared.arguments, raw)
