"""Values that Python makes fit the schemas that are published for their types, both ways."""

from __future__ import annotations

import enum
from datetime import timedelta
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor.errors import ArgumentsRefused
from salvor.tools.check import SchemaCheck
from salvor.tools.schema import ValueType
from tests.support.described import refused
from tests.support.taking import taking


class Right(enum.IntFlag):
    READ = 1
    WRITE = 4


class Mark(enum.Flag):
    BOLD = 1
    WIDE = 2


class Numbered(enum.Enum):
    ONE = 1
    TWO = 2


class Mixed(enum.Enum):
    ONE = 1
    RED = "red"


def crosses(annotation: Any, value: Any) -> Any:
    """What a value is in JSON, on its way in and out again."""
    tool, output = taking(annotation), ValueType(annotation, where="x")
    assert output.schema is not None
    bound = tool.bind((value,), {})["value"]

    assert tool.prepare({"value": bound}).values == {"value": value}
    assert output.encode(value) == bound
    assert output.decode(bound) == value
    assert SchemaCheck(output.schema).is_valid(bound)
    return bound


@given(st.timedeltas())
def test_every_duration_of_python_crosses(value: timedelta) -> None:
    crosses(timedelta, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (timedelta(milliseconds=5), "PT0.005S"),
        (timedelta(days=-1), "-P1D"),
        (timedelta(0), "PT0S"),
        (timedelta.max, None),
        (timedelta.min, None),
    ],
)
def test_a_duration_has_a_sign_and_parts_of_a_second(value: timedelta, text: str | None) -> None:
    assert crosses(timedelta, value) == text or text is None


@pytest.mark.parametrize(
    "text", ["P", "PT", "P1DT", "1 day", "12:30:00", "P1.5D", "PT1S1H", "", "5"]
)
def test_what_is_no_duration_is_refused_in_plain_words(text: str) -> None:
    with pytest.raises(ArgumentsRefused, match=r"a duration \(ISO 8601\), such as PT1H30M"):
        taking(timedelta).prepare({"value": text})


@pytest.mark.parametrize(
    "value", [Right.READ, Right.READ | Right.WRITE, Mark.BOLD | Mark.WIDE, Mark(0), Right(0)]
)
def test_flags_cross_alone_and_together(value: enum.Flag) -> None:
    assert crosses(type(value), value) == value.value


@pytest.mark.parametrize("sent", [True, 8, -1, "READ", 1.5])
def test_what_is_no_flag_is_refused(sent: Any) -> None:
    with pytest.raises(ArgumentsRefused):
        taking(Right).prepare({"value": sent})


@pytest.mark.parametrize(
    "annotation",
    [
        *(dict[tuple[int, int], int], dict[Numbered, int], dict[Literal[1, 2], int]),
        *(dict[None, int], list[dict[Numbered, int]]),
    ],
)
def test_keys_that_no_text_can_be_are_refused_with_their_type(annotation: Any) -> None:
    def take(value: Any) -> None: ...
    def give() -> Any: ...

    take.__annotations__["value"] = annotation
    give.__annotations__["return"] = annotation

    assert "keys that are no text" in refused(take).reason
    assert "keys that are no text" in refused(give).reason


def test_of_mixed_keys_those_that_are_text_are_published() -> None:
    tool = taking(dict[Mixed, int])

    assert tool.prepare({"value": {"red": 1}}).values == {"value": {Mixed.RED: 1}}
    assert not tool.input.check.is_valid({"value": {"1": 1}})
