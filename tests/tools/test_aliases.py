"""Names that differ in JSON: one for both ways, on every kind of type, and no value is lost."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, NamedTuple, NotRequired

import pydantic
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from salvor.errors import ToolDefinitionError
from salvor.tools.schema import ValueType
from tests.support.described import refused
from tests.support.taking import problems, taking


class ReadElsewhere(BaseModel):
    number: int = Field(default=0, validation_alias="no")


class WrittenElsewhere(BaseModel):
    number: int = Field(default=0, serialization_alias="no")


class FoundElsewhere(BaseModel):
    number: int = Field(default=0, validation_alias=AliasPath("no", 0))


@dataclasses.dataclass
class PlainReadElsewhere:
    number: Annotated[int, Field(validation_alias="no")] = 0


@dataclasses.dataclass
class PlainOfTwoNames:
    number: Annotated[int, Field(validation_alias=AliasChoices("no", "nr"))] = 0


@pydantic.dataclasses.dataclass
class CheckedReadElsewhere:
    number: int = Field(default=0, validation_alias="no")


class KeyReadElsewhere(TypedDict):
    number: NotRequired[Annotated[int, Field(validation_alias="no")]]


class Outer(BaseModel):
    inner: list[KeyReadElsewhere]


BOTH_WAYS = [
    *(ReadElsewhere, WrittenElsewhere, FoundElsewhere, PlainReadElsewhere, PlainOfTwoNames),
    *(CheckedReadElsewhere, KeyReadElsewhere, Outer, list[ReadElsewhere], ReadElsewhere | None),
]


@pytest.mark.parametrize("annotation", BOTH_WAYS)
def test_a_field_that_would_be_lost_on_its_way_is_refused(annotation: Any) -> None:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = annotation

    assert refused(take).parameter == "value"
    with pytest.raises(ToolDefinitionError, match="number"):
        ValueType(annotation, where="x")


class Model(BaseModel):
    from_: int = Field(alias="from")


class Generated(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.rstrip("_"))

    from_: int


class ByEither(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    from_: int = Field(alias="from")


@dataclasses.dataclass
class Plain:
    from_: Annotated[int, Field(alias="from")]


@dataclasses.dataclass
class PlainByDefault:
    from_: int = Field(alias="from")


@pydantic.dataclasses.dataclass
class Checked:
    from_: int = Field(alias="from")


MADE = [
    *(
        Model.model_validate({"from": 1}),
        Generated.model_validate({"from": 1}),
        ByEither(**{"from": 1}),
    ),
    *(Plain(1), PlainByDefault(1), Checked(**{"from": 1})),
]


@pytest.mark.parametrize("value", MADE, ids=lambda value: type(value).__name__)
def test_one_alias_is_the_name_in_json_of_arguments_and_results(value: Any) -> None:
    tool = taking(type(value))
    output = ValueType(type(value), where="x")

    assert tool.bind((value,), {}) == {"value": {"from": 1}}
    assert tool.prepare({"value": {"from": 1}}).values == {"value": value}
    assert problems(tool, {"value": {"from_": 1}})
    assert output.encode(value) == {"from": 1}
    assert output.decode({"from": 1}) == value
    assert "from" in str(output.schema) and "from_" not in str(output.schema)


class Pair(NamedTuple):
    from_: Plain
    to: Plain


def test_aliases_hold_inside_of_what_is_passed() -> None:
    tool = taking(Pair)
    value = Pair(Plain(1), Plain(2))

    bound = tool.bind((value,), {})

    assert bound == {"value": [{"from": 1}, {"from": 2}]}
    assert tool.prepare(bound).values == {"value": value}
