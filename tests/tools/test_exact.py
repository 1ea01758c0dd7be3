"""Results told by their classes: they are written just as pydantic would write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasGenerator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    RootModel,
    computed_field,
    field_serializer,
    field_validator,
    model_serializer,
    model_validator,
)
from typing_extensions import TypedDict

from salvor.errors import OutputRefused
from salvor.tools.schema import ValueType
from salvor.values import canonical_json


class Line(BaseModel):
    text: str
    count: int = 1


class Receipt(BaseModel):
    """What was paid."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str
    cents: int
    share: float = 0.5
    urgent: bool = False
    note: str | None = None
    lines: list[Line] = Field(default_factory=list, description="What for.")
    nothing: None = None


class Finer(Line):
    finer: int = 3


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    text: str


class Aliased(BaseModel):
    text: str = Field(alias="wort")


class AliasedAll(BaseModel):
    model_config = ConfigDict(alias_generator=AliasGenerator(alias=str.upper))
    text: str


class Bounded(BaseModel):
    count: int = Field(gt=0)


class Cut(BaseModel):
    model_config = ConfigDict(str_max_length=3)
    text: str


class Excluded(BaseModel):
    text: str
    count: int = Field(default=1, exclude=True)


class Written(BaseModel):
    count: int

    @field_serializer("count")
    def as_text(self, value: int) -> int:
        return value + 1


class WrittenWhole(BaseModel):
    count: int

    @model_serializer
    def whole(self) -> dict[str, int]:
        return {"count": self.count + 1}


class Computed(BaseModel):
    count: int

    @computed_field
    def twice(self) -> int:
        return 2 * self.count


class Checked(BaseModel):
    count: int

    @field_validator("count")
    @classmethod
    def even(cls, value: int) -> int:
        assert value % 2 == 0
        return value


class CheckedWhole(BaseModel):
    count: int

    @model_validator(mode="after")
    def even(self) -> CheckedWhole:
        assert self.count % 2 == 0
        return self


class Posted(BaseModel):
    count: int

    def model_post_init(self, context: Any) -> None:
        assert self.count % 2 == 0


class Private(BaseModel):
    count: int
    _seen: bool = PrivateAttr(default=False)


class Made(BaseModel):
    count: int

    def __init__(self, **given: Any) -> None:
        assert given["count"] % 2 == 0
        super().__init__(**given)


class Rooted(RootModel[list[int]]):
    pass


class Colour(Enum):
    RED = "red"


class Options(TypedDict):
    text: str


@dataclass
class Point:
    x: int


EXACT: list[Any] = [
    *(str, int, bool, float, None, str | None, list[str], list[int], list[float | None]),
    *(list[list[int]], list[bool], list[Line], Line, Receipt, Line | None, list[Receipt]),
]
CAREFUL: list[Any] = [
    *(Open, Aliased, AliasedAll, Bounded, Cut, Excluded, Written, WrittenWhole, Computed),
    *(
        Checked,
        CheckedWhole,
        Posted,
        Private,
        Made,
        Rooted,
        Colour,
        Options,
        Point,
        bytes,
        datetime,
    ),
    *(Decimal, Any, object, list[Any], list, dict[str, int], tuple[int, ...], set[int]),
    *(Literal["a"], Literal[1], int | str, Annotated[int, Field(gt=0)], list[Bounded]),
    *(Annotated[int, AfterValidator(abs)], Annotated[list[int], Field(max_length=1)]),
    *(Annotated[int, PlainSerializer(str, return_type=str)], Annotated[str, Field(strict=True)]),
]


@pytest.mark.parametrize("kind", EXACT, ids=str)
def test_plain_types_are_told_by_their_classes(kind: Any) -> None:
    assert ValueType(kind, where="it")._exact is not None


@pytest.mark.parametrize("kind", CAREFUL, ids=str)
def test_types_that_say_more_are_left_to_pydantic(kind: Any) -> None:
    assert ValueType(kind, where="it")._exact is None


class Text(str):
    """A text of a class of its own."""


class Number(int):
    """A number of a class of its own."""


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", Text("a"), Number(3), b"a", Decimal(1), Colour.RED])
    | st.none().map(lambda _: 10**5000)
)


def made(cls: Any, fields: dict[str, Any]) -> Any:
    """A model as careless code makes it."""
    return cls.model_construct(**fields)


LINES = st.builds(
    made,
    st.sampled_from([Line, Finer]),
    st.fixed_dictionaries({}, optional={"text": SCALARS, "count": SCALARS, "odd": SCALARS}),
) | st.builds(Line, text=st.text(), count=st.integers())
RECEIPTS = st.builds(
    made,
    st.just(Receipt),
    st.fixed_dictionaries(
        {"claim": st.text() | SCALARS, "cents": st.integers() | SCALARS},
        optional={
            "share": SCALARS,
            "urgent": SCALARS,
            "note": SCALARS,
            "nothing": SCALARS,
            "lines": st.lists(LINES | SCALARS) | SCALARS,
        },
    ),
)
VALUES = st.recursive(
    SCALARS | LINES | RECEIPTS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=8,
)


def odd(line: Line) -> Line:
    """A model that holds more than its fields, as a cached property leaves it."""
    line.__dict__["odd"] = object()
    return line


TYPES = {str(kind): ValueType(kind, where="it") for kind in EXACT}
LIKELY = {
    str(Line): LINES,
    str(Line | None): LINES,
    str(list[Line]): st.lists(LINES),
    str(Receipt): RECEIPTS,
    str(list[Receipt]): st.lists(RECEIPTS),
    **{str(kind): st.lists(SCALARS) for kind in (list[str], list[int], list[float | None])},
}
CASES = st.sampled_from(sorted(TYPES)).flatmap(
    lambda kind: st.tuples(st.just(kind), LIKELY.get(kind, SCALARS) | VALUES)
)


def outcome(write: Any, value: Any) -> tuple[Any, ...]:
    try:
        found, text = write(value)
    except OutputRefused as error:
        return ("refused", str(error))
    assert text == canonical_json(found)
    return (text, repr(found))


@settings(max_examples=1500, deadline=None)
@given(CASES)
@example((str(Line), Line(text="a")))
@example((str(Line), Finer(text="a")))
@example((str(Line), Line.model_construct(count=1)))
@example((str(Line), SimpleNamespace(text="a", count=1)))
@example((str(Line), odd(Line(text="a"))))
@example((str(float), float("inf")))
@example((str(list[float | None]), [1.0, None, float("nan")]))
@example((str(list[bool]), [True, 1]))
@example((str(list[int]), [True, 1]))
@example((str(int), True))
def test_what_is_told_by_its_class_is_what_pydantic_would_write(case: tuple[str, Any]) -> None:
    kind, value = TYPES[case[0]], case[1]

    assert outcome(kind.write, value) == outcome(kind._written, value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Receipt, Receipt(claim="é", cents=3, lines=[Line(text="a"), Line(text="b", count=2)])),
        (list[Line], [Line(text="a")]),
        (list[list[int]], [[1, 2], []]),
        (str | None, None),
        (float, 1.5),
    ],
)
def test_right_values_need_no_second_look(kind: Any, value: Any) -> None:
    found = ValueType(kind, where="it")
    assert found._exact is not None

    assert found._exact(value) == found._written(value)[0]
    assert repr(found._exact(value)) == repr(found._written(value)[0])


def test_what_is_given_back_shares_nothing_with_the_result() -> None:
    held = [1, 2]
    kind = ValueType(list[int], where="it")

    found, _ = kind.write(held)
    held.append(3)

    assert found == [1, 2]


def test_a_result_above_the_limit_is_refused_however_plain_it_is() -> None:
    kind = ValueType(str, where="it")

    assert kind.encode("x" * (3 * 1024 * 1024)) == "x" * (3 * 1024 * 1024)
    with pytest.raises(OutputRefused, match="at most"):
        kind.encode("x" * (9 * 1024 * 1024))
    with pytest.raises(OutputRefused, match="at most"):
        kind.encode("é" * (5 * 1024 * 1024))


def test_an_integer_that_no_float_can_be_is_refused_where_a_float_is_declared() -> None:
    with pytest.raises(OutputRefused, match="too large"):
        ValueType(float, where="it").encode(10**400)
