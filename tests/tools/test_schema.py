"""Values of one type: what a result becomes, what is refused, and what comes back."""

from __future__ import annotations

import dataclasses
import enum
import itertools
import warnings
from collections.abc import Awaitable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, computed_field
from typing_extensions import TypedDict

from salvor.errors import OutputRefused, ToolDefinitionError
from salvor.tools.schema import ValueType
from salvor.values import MAX_OUTPUT_BYTES, canonical_json


class Style(enum.Enum):
    DOT = "dot"


class Receipt(BaseModel):
    id: str
    cents: int = 0


class Aliased(BaseModel):
    origin: str = Field(alias="from")


class Squared(BaseModel):
    side: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def area(self) -> int:
        return self.side**2


class Row(TypedDict):
    a: int


@dataclasses.dataclass
class Size:
    width: int


class Stats(BaseModel):
    anything: Any
    note: str | None = None


@dataclasses.dataclass
class Wrapped:
    stats: list[Stats]


def typed(annotation: Any) -> ValueType:
    return ValueType(annotation, where="pay")


def refused(annotation: Any, value: Any) -> OutputRefused:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OutputRefused) as caught:
            typed(annotation).encode(value)
    return caught.value


CROSSING: list[tuple[Any, Any, Any]] = [
    (None, None, None),
    (int, 5, 5),
    (float, 1.5, 1.5),
    (str, "ä", "ä"),
    (bool, True, True),
    (list[int], [1], [1]),
    (list[int], [], []),
    (set[int], {1}, [1]),
    (tuple[int, str], (1, "a"), [1, "a"]),
    (bytes, b"\xfb\xff", "+/8="),
    (Receipt, Receipt(id="a"), {"id": "a", "cents": 0}),
    (list[Receipt], [Receipt(id="a", cents=2)], [{"id": "a", "cents": 2}]),
    (Aliased, Aliased(**{"from": "x"}), {"from": "x"}),
    (Row, {"a": 1}, {"a": 1}),
    (Size, Size(width=1), {"width": 1}),
    (Style, Style.DOT, "dot"),
    (Literal["a", 1], 1, 1),
    (datetime, datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00Z"),
    (Decimal, Decimal("1.50"), "1.50"),
    (dict[int, str], {1: "a"}, {"1": "a"}),
    (Receipt | None, None, None),
    (Receipt | Size, Size(width=2), {"width": 2}),
]


@pytest.mark.parametrize(("annotation", "value", "encoded"), CROSSING)
def test_a_value_crosses_and_comes_back(annotation: Any, value: Any, encoded: Any) -> None:
    kind = typed(annotation)

    assert canonical_json(kind.encode(value)) == canonical_json(encoded)
    assert kind.decode(encoded) == value
    assert type(kind.decode(encoded)) is type(value)


def test_what_is_computed_is_shown_and_computed_again() -> None:
    kind = typed(Squared)

    assert kind.encode(Squared(side=3)) == {"side": 3, "area": 9}
    assert kind.decode({"side": 3, "area": 9}) == Squared(side=3)


def test_without_a_type_plain_json_comes_back() -> None:
    kind = typed(Any)

    assert not kind.typed
    assert kind.schema is None
    assert kind.encode({"b": {2, 1}, "a": Receipt(id="x")}) == {
        "b": [1, 2],
        "a": {"id": "x", "cents": 0},
    }
    assert kind.decode({"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (int, "5"),
        (int, None),
        (str, 5),
        (Receipt, {"id": "a"}),
        (Receipt, None),
        (list[int], [1, "2"]),
        (list[int], "12"),
        (Annotated[int, Field(ge=5)], 3),
        (None, 5),
        (Literal["a"], "b"),
        (Style, "x"),
        (Receipt, Receipt.model_construct(id=5)),
        (dict[str, int], {"a": object()}),
    ],
)
def test_what_is_not_of_the_type_is_refused(annotation: Any, value: Any) -> None:
    assert "pay returned what it does not declare" in refused(annotation, value).message


def test_a_refusal_says_what_came() -> None:
    assert '/: expected an integer, got the text "5"' in str(refused(int, "5"))
    assert str(refused(list[int], {5})).endswith(
        "/: expected a value of the declared type, got a value of the type set "
        "(Expected `list[int]`)"
    )


class Report(TypedDict):
    numbers: set[int]
    extra: object


UNLIKE: list[tuple[Any, Any, list[str]]] = [
    (Report, {"numbers": {1, 2}, "extra": object()}, ["/extra"]),
    (dict[str, Any], {"a/b": [1, object()], "c": object()}, ["/a~1b/1", "/c"]),
    (Stats, Stats(anything={"sd": [object()]}), ["/anything/sd/0"]),
    (list[Receipt], [Receipt.model_construct(id="a"), Receipt.model_construct(id=5)], ["/1/id"]),
    (dict[str, list[int]], {"a": [1], "b": [1, "2"]}, ["/b/1"]),
    (Any, {"a": [1, {"b": object()}]}, ["/a/1/b"]),
    (Any, [Stats(anything=object())], ["/0/anything"]),
    (Any, {"rows": (row for row in "ab")}, ["/rows"]),
    (Any, {"rows": [map(str, [1])]}, ["/rows/0"]),
    (Any, [itertools.count()], ["/0"]),
]


@pytest.mark.parametrize(("annotation", "value", "places"), UNLIKE)
def test_a_refusal_names_the_place_of_what_is_unlike(
    annotation: Any, value: Any, places: list[str]
) -> None:
    message = str(refused(annotation, value))

    assert all(f"{place}: " in message for place in places)
    assert " at 0x" not in message


def test_sets_are_written_where_they_are_declared() -> None:
    assert typed(Report).encode({"numbers": {1, 2}, "extra": None}) == {
        "numbers": [1, 2],
        "extra": None,
    }


@pytest.mark.parametrize("annotation", [Any, dict[str, Any], dict[str, float | list[float]]])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
def test_a_number_that_is_no_json_is_refused_with_its_place(annotation: Any, value: Any) -> None:
    assert "/sd" in str(refused(annotation, {"mean": 1.5, "sd": value}))


def test_a_number_that_is_no_json_is_found_inside_models() -> None:
    bad = Wrapped(stats=[Stats(anything={"sd": float("nan")})])

    assert "/stats/0/anything/sd" in str(refused(Wrapped, bad))
    assert "/anything/sd: expected a JSON number" in str(refused(Stats, bad.stats[0]))
    assert typed(Stats).encode(Stats(anything=1.5)) == {"anything": 1.5, "note": None}


@pytest.mark.parametrize("annotation", [Any, str])
def test_half_a_surrogate_pair_is_refused(annotation: Any) -> None:
    assert "surrogate" in str(refused(annotation, "\udcaf"))


def test_an_object_without_json_is_refused_and_never_shown_as_its_text() -> None:
    error = refused(Any, {"s": {1, 2}, "o": object()})

    assert "a object has no JSON form" in str(error)
    assert " at 0x" not in str(error)


@pytest.mark.parametrize("annotation", [Any, str])
def test_a_result_has_a_size_limit(annotation: Any) -> None:
    kind = typed(annotation)

    assert kind.encode("x" * (MAX_OUTPUT_BYTES - 2))
    assert "bytes" in str(refused(annotation, "x" * MAX_OUTPUT_BYTES))
    assert "bytes" in str(refused(annotation, "ä" * (MAX_OUTPUT_BYTES // 2)))


def test_recorded_json_that_no_longer_fits_is_refused() -> None:
    with pytest.raises(OutputRefused, match="/cents: expected an integer, got the text"):
        typed(Receipt).decode({"id": "a", "cents": "5"})


def test_the_schema_is_that_of_the_json() -> None:
    assert typed(Aliased).schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["from"],
        "properties": {"from": {"type": "string"}},
    }
    assert typed(None).schema == {"type": "null"}
    assert typed(list[Style]).schema == {
        "$defs": {"Style": {"enum": ["dot"], "type": "string"}},
        "items": {"$ref": "#/$defs/Style"},
        "type": "array",
    }


def test_typed_dicts_and_named_tuples_have_closed_schemas_without_noise() -> None:
    class Pair(NamedTuple):
        left: int
        right: int = 2

    assert typed(Row).schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {"a": {"type": "integer"}},
    }
    assert typed(Pair).schema == {
        "type": "array",
        "minItems": 1,
        "maxItems": 2,
        "prefixItems": [{"type": "integer"}, {"type": "integer", "default": 2}],
    }


def test_bytes_of_a_model_are_what_that_model_makes_of_them() -> None:
    class Blob(BaseModel):
        data: bytes

    kind = typed(Blob)

    assert kind.encode(Blob(data=b"hi")) == {"data": "hi"}
    assert kind.schema is not None
    assert kind.schema["properties"] == {"data": {"type": "string", "format": "binary"}}


def test_a_result_that_a_serialiser_makes_no_json_of_is_refused() -> None:
    odd = Annotated[int, PlainSerializer(lambda value: object())]

    assert "expected a value that JSON can carry, got a value of the type object" in str(
        refused(odd, 1)
    )


def test_a_model_that_takes_more_is_published_open() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow", title="Opened")

    schema = typed(Open).schema

    assert schema is not None
    assert schema["additionalProperties"] is True
    assert schema["title"] == "Opened"


@pytest.mark.parametrize("annotation", [SecretStr, list[SecretStr], type("Conn", (), {})])
def test_a_type_that_cannot_cross_is_refused(annotation: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        typed(annotation)


def test_the_return_type_of_a_function_is_read() -> None:
    def plain():  # type: ignore[no-untyped-def]
        return 1

    def nothing() -> None: ...

    async def later() -> int:
        return 1

    def awaited() -> Awaitable[int]:
        return later()

    def lost() -> Nowhere: ...  # type: ignore[name-defined]  # noqa: F821

    assert ValueType.of_return(plain).schema is None
    assert ValueType.of_return(nothing).schema == {"type": "null"}
    assert ValueType.of_return(later).schema == {"type": "integer"}
    assert ValueType.of_return(awaited).schema == {"type": "integer"}
    with pytest.raises(ToolDefinitionError, match=r"lost: its return type: .*Nowhere"):
        ValueType.of_return(lost)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=3), st.lists(st.integers() | st.booleans() | st.none(), max_size=3)
    )
)
def test_any_value_of_a_type_crosses(value: Any) -> None:
    kind = typed(dict[str, list[int | bool | None]])

    assert canonical_json(kind.decode(kind.encode(value))) == canonical_json(value)
