"""``**options: Unpack[Options]``: each key of the typed dict is a parameter."""

from __future__ import annotations

import typing
from functools import partial
from typing import Annotated, Any, Generic, NotRequired, Required, TypeVar

import pytest
import typing_extensions
from pydantic import Field
from typing_extensions import ReadOnly, TypedDict, Unpack

from salvor.errors import ToolDefinitionError
from salvor.tools.context import Context
from salvor.tools.contract import ToolMeta
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from tests.support.described import Point, built, refused

NO_CONTEXT: Any = None
T = TypeVar("T")


class Base(typing.TypedDict, total=False):
    tint: str
    size: typing.Required[int]


class Options(Base):
    place: Point
    depth: Annotated[typing.NotRequired[int], Field(ge=0, description="How deep.")]


class Newer(TypedDict, total=False):
    tint: ReadOnly[str]
    size: Required[int]
    place: Required[Point]
    depth: NotRequired[Annotated[int, Field(ge=0, description="How deep.")]]


def draw(name: str, **options: Unpack[Options]) -> dict[str, Any]:
    """Draw.

    Args:
        name: What.
        options: How.
        tint: The colour.
    """
    return {"name": name, **options}


def draw_newer(name: str, **options: Unpack[Newer]) -> dict[str, Any]:
    """Draw.

    Args:
        tint: The colour.
    """
    return {"name": name, **options}


def called(function: Any, raw: Any) -> Any:
    found = built(function)
    args, kwargs = found.arguments(found.prepare(raw).values, NO_CONTEXT, {})
    return function(*args, **kwargs)


@pytest.mark.parametrize("function", [draw, draw_newer])
def test_keys_are_parameters(function: Any) -> None:
    found = built(function)
    schema: Any = found.input_schema

    assert schema["properties"] == {
        "name": {"type": "string"} | ({"description": "What."} if function is draw else {}),
        "tint": {"type": "string", "description": "The colour."},
        "size": {"type": "integer"},
        "place": {"$ref": "#/$defs/Point"},
        "depth": {"type": "integer", "minimum": 0, "description": "How deep."},
    }
    assert schema["required"] == ["name", "size", "place"]
    assert schema["additionalProperties"] is False
    assert found.lint == ()


@pytest.mark.parametrize("function", [draw, draw_newer])
def test_what_was_passed_arrives_and_nothing_else(function: Any) -> None:
    assert called(function, {"name": "a", "size": "3", "place": {"x": 1}}) == {
        "name": "a",
        "size": 3,
        "place": Point(x=1),
    }


def test_keys_may_be_part_of_an_idempotency_key() -> None:
    found = function_tool(tool(effect="write", idempotency_key=("name", "size", "place.x"))(draw))

    assert found.key({"name": "a", "size": 1, "place": {"x": 2}}) is not None


def test_an_optional_key_is_no_part_of_an_idempotency_key() -> None:
    meta = ToolMeta(effect="write", idempotency_key="tint", description="It does.")

    assert "names no required parameter 'tint'" in refused(draw, meta).reason


def test_null_for_an_optional_key_omits_it() -> None:
    raw = {"name": "a", "size": 3, "place": {"x": 1}, "tint": None}

    assert "tint" not in called(draw, raw)


def test_a_generic_typed_dict_takes_its_argument() -> None:
    class Several(TypedDict, Generic[T]):
        one: T
        many: NotRequired[list[T]]

    def count(**options: Unpack[Several[int]]) -> None: ...

    count.__annotations__["options"] = Unpack[Several[int]]
    properties: Any = built(count).input_schema["properties"]

    assert properties == {
        "one": {"type": "integer"},
        "many": {"type": "array", "items": {"type": "integer"}},
    }


def test_keys_may_be_words_that_python_reserves() -> None:
    Odd = typing.TypedDict("Odd", {"from": int, "copy": int, "a-b": int, "_x": int, "json": int})

    def move(**options: Any) -> dict[str, Any]:
        return options

    move.__annotations__["options"] = Unpack[Odd]
    raw = {"from": 1, "copy": 2, "a-b": 3, "_x": 4, "json": 5}

    assert list(built(move).input_schema["properties"]) == list(raw)  # type: ignore[arg-type]
    assert called(move, raw) == raw


def test_a_context_among_the_keys_is_injected() -> None:
    class Own(TypedDict):
        ctx: Context
        size: int

    def move(**options: Any) -> dict[str, Any]:
        return options

    move.__annotations__["options"] = Unpack[Own]
    found = built(move)

    assert list(found.input_schema["properties"]) == ["size"]  # type: ignore[arg-type]
    assert found.arguments({"size": 1}, NO_CONTEXT, {})[1] == {"size": 1, "ctx": None}


def test_typed_dicts_of_the_enclosing_function_are_found() -> None:
    class Inner(TypedDict):
        a: int

    class Outer(TypedDict):
        inner: Inner
        more: typing_extensions.NotRequired[list[Inner]]

    @tool(effect="read")
    def move(**options: Unpack[Outer]) -> None:
        """Move."""

    schema: Any = function_tool(move).input_schema

    assert schema["required"] == ["inner"]
    assert schema["$defs"]["Inner"]["properties"] == {"a": {"type": "integer"}}


def test_a_partial_binds_keys() -> None:
    meta = ToolMeta(effect="read", name="draw", description="It does.")
    found = built(partial(draw, size=1, name="x"), meta)

    assert list(found.input_schema["properties"]) == ["tint", "place", "depth"]  # type: ignore[arg-type]


def test_a_key_that_is_a_parameter_too_is_refused() -> None:
    def move(size: int, **options: Unpack[Options]) -> None: ...  # type: ignore[misc]

    error = refused(move)

    assert error.parameter == "options"
    assert "'size'" in error.reason


def test_what_is_no_typed_dict_is_refused() -> None:
    def move(**options: Any) -> None: ...

    move.__annotations__["options"] = typing.Unpack[tuple[int, str]]
    assert "takes a TypedDict" in refused(move).reason
    move.__annotations__["options"] = int
    assert "**options has no schema" in refused(move).reason
    del move.__annotations__["options"]
    assert "Unpack[" in str(refused(move).hint)


def test_a_key_whose_type_is_unknown_is_refused() -> None:
    class Lost(TypedDict):
        a: Missing  # type: ignore[name-defined]  # noqa: F821

    def move(**options: Any) -> None: ...

    move.__annotations__["options"] = Unpack[Lost]
    error: ToolDefinitionError = refused(move)

    assert (error.parameter, "Missing" in error.reason) == ("options", True)
