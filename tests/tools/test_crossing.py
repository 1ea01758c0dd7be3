"""What is made of a model once: each tool has a schema of its own, and a model may be rebuilt."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, Optional, Union

import pytest
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from salvor.errors import OutputRefused
from salvor.tools.annotations import is_plain
from salvor.tools.crossing import crossing_of
from salvor.tools.schema import ValueType


class Place(BaseModel):
    name: str
    tags: list[str] = []


def test_a_model_is_looked_at_once() -> None:
    assert crossing_of(Place) is crossing_of(Place)
    assert crossing_of(list[Place]) is not crossing_of(list[Place])
    assert crossing_of(Place, {"str": int}) is not crossing_of(Place)


def test_who_changes_the_schema_of_one_changes_no_other() -> None:
    one, other = ValueType(Place, where="one"), ValueType(Place, where="other")
    before = deepcopy(ValueType(Place, where="it").schema)
    found: Any = one.schema

    found["properties"].clear()

    assert other.schema == before == ValueType(Place, where="it").schema


def test_each_value_type_reports_what_it_is_itself() -> None:
    for where in ("one", "other"):
        with pytest.raises(OutputRefused, match=f"{where}.*/name"):
            ValueType(Place, where=where).decode({})


def test_a_model_that_is_rebuilt_is_looked_at_again() -> None:
    class Held(BaseModel):
        count: int = 0

    assert ValueType(Held, where="it").decode({"count": -1}).count == -1

    positive: Any = Annotated[int, Field(gt=0)]
    Held.model_fields["count"] = FieldInfo.from_annotation(positive)
    Held.model_rebuild(force=True)

    with pytest.raises(OutputRefused, match="/count"):
        ValueType(Held, where="it").decode({"count": -1})
    schema: Any = ValueType(Held, where="it").schema
    assert schema["properties"]["count"]["exclusiveMinimum"] == 0


@pytest.mark.parametrize(
    "plain",
    [
        *(str, int, None.__class__, list, list[str], dict[str, int], list[dict[str, list[bool]]]),
        *(str | None, Optional[int], Union[int, list[str], None]),  # noqa: UP007, UP045
    ],
)
def test_types_made_of_plain_ones_are_plain(plain: Any) -> None:
    assert is_plain(plain)


@pytest.mark.parametrize(
    "other",
    [
        *("str", list["Place"], "Place | None", Place, list[Place], dict[str, Any], Any),
        *(list[Place | None], Optional["str"], tuple[int, ...], set[int], type, object),
    ],
)
def test_types_with_anything_else_in_them_are_not(other: Any) -> None:
    assert not is_plain(other)
