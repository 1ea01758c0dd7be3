"""Annotations: names that are found, and types that cannot cross as JSON."""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, Self

import pytest
from annotated_types import Ge
from pydantic import (
    AliasChoices,
    Base64Bytes,
    Base64UrlBytes,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
)
from pydantic_core import core_schema
from typing_extensions import TypeAliasType

from salvor.tools.decorator import tool
from tests.support.described import Conn, built, refused


def test_types_of_the_enclosing_function_are_found() -> None:
    class Local(BaseModel):
        a: int

    @tool(effect="read")
    def take(one: Local, many: list[Local]) -> Local:
        """Take."""
        return one

    found = built(take, None)  # type: ignore[arg-type]

    assert found.input_schema["$defs"]
    assert found.output_schema


def test_types_around_a_class_are_found() -> None:
    class Local(BaseModel):
        a: int

    class Desk:
        @tool(effect="read")
        def take(self, one: Local) -> None:
            """Take."""

    assert built(Desk().take, None).input_schema["$defs"]  # type: ignore[arg-type]


def test_a_closure_names_types_too() -> None:
    class Local(BaseModel):
        a: int

    def take(one: Local) -> None:
        Local(a=1)

    assert built(take).input_schema["$defs"]


def test_a_name_that_is_not_defined_is_refused_with_its_parameter() -> None:
    def take(one: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    error = refused(take)

    assert error.parameter == "one"
    assert "'Nowhere'" in error.reason


def test_an_annotation_that_is_no_type_is_refused() -> None:
    def take(one: 1 / 0) -> None: ...  # type: ignore[valid-type]

    assert refused(take).parameter == "one"


def test_a_type_without_json_is_refused_alone_with_its_parameter() -> None:
    def run(sql: str, conn: Conn) -> None: ...
    def call(back: Callable[[int], str] | None = None) -> None: ...

    assert refused(run).parameter == "conn"
    assert "Conn" in refused(run).reason
    assert "Depends" in str(refused(run).hint)
    assert refused(call).parameter == "back"


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (SecretStr, "SecretStr"),
        (list[SecretStr], "SecretStr"),
        (dict[str, SecretStr | None], "SecretStr"),
        (Iterable[int], "Iterable"),
    ],
)
def test_what_cannot_cross_is_refused(annotation: Any, reason: str) -> None:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = annotation

    assert reason in refused(take).reason
    assert refused(take).parameter == "value"


def test_what_cannot_cross_is_found_inside_models() -> None:
    class Login(BaseModel):
        password: SecretStr

    class Choice(BaseModel):
        name: str = Field(validation_alias=AliasChoices("name", "title"))

    class TwoNames(BaseModel):
        name: str = Field(serialization_alias="title")

    @dataclasses.dataclass
    class Nested:
        login: Login

    def take(value: Any) -> None: ...

    for annotation in (Login, list[Choice], TwoNames | None, Nested):
        take.__annotations__["value"] = annotation
        assert refused(take).parameter == "value"


def test_alias_choices_on_a_parameter_are_refused() -> None:
    def take(value: Annotated[str, Field(validation_alias=AliasChoices("a", "b"))]) -> None: ...

    assert "AliasChoices" in refused(take).reason


def test_an_alias_of_a_type_is_looked_through() -> None:
    secret = TypeAliasType("secret", list[SecretStr])
    whole = TypeAliasType("whole", int)

    def take(value: Any) -> None: ...

    take.__annotations__["value"] = secret
    assert "SecretStr" in refused(take).reason
    take.__annotations__["value"] = whole
    assert built(take).prepare({"value": "5"}).arguments == {"value": 5}


def test_a_pattern_that_the_checker_cannot_match_is_refused() -> None:
    def take(value: Annotated[str, Field(json_schema_extra={"pattern": "(?=a)"})]) -> None: ...

    assert "cannot be used" in refused(take).reason


def test_a_variable_that_is_assigned_later_does_not_matter() -> None:
    def take(value: int) -> None:
        print(later)

    found = built(take)
    later = 1

    assert found.prepare({"value": later}).values == {"value": 1}


POSTPONED = """
from __future__ import annotations

import typing as t
from collections import abc as Any
from enum import Enum
from salvor.tools.context import Context as Injected

Effect = t.Literal["low", "high"]

class Context(Enum):
    A = "a"

class Problem:
    class Kind(Enum):
        B = "b"

def pick(
    level: Effect,
    place: Context,
    kind: Problem.Kind,
    items: Any.Sequence[str],
    ctx: "Injected | None" = None,
    n: int | None = None,
) -> str:
    return level
"""


def test_texts_mean_what_the_module_says_in_which_they_stand() -> None:
    module = ModuleType("postponed")
    exec(POSTPONED, module.__dict__)
    sys.modules["postponed"] = module
    try:
        found = built(module.pick)
    finally:
        del sys.modules["postponed"]

    fields: Any = found.input_schema["properties"]
    assert list(fields) == ["level", "place", "kind", "items", "n"]
    assert fields["level"] == {"enum": ["low", "high"], "type": "string"}
    assert fields["n"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    values = found.prepare({"level": "low", "place": "a", "kind": "b", "items": ["x"]}).values
    assert values["place"] is module.Context.A
    assert values["kind"] is module.Problem.Kind.B


class Empty(enum.Enum):
    """Nothing."""


class Builder:
    """A type that describes itself, and fails in a way of its own."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise LookupError("there is no such table")


class Described:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.int_schema()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> Any:
        raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (Literal[()], "literal"),
        (Literal[b"x"], "bytes as a literal"),
        (Annotated[int, Ge("a")], "ge"),
        (Annotated[str, StringConstraints(pattern="(?<=a)b")], "look-around"),
        (Annotated[str, StringConstraints(pattern="(")], "unclosed"),
        (type[int], "a class"),
        (Empty, "an enum without members"),
        (enum.Enum, "an enum without members"),
        (enum.Flag, "an enum without members"),
        (Base64Bytes, "encoded twice"),
        (Base64UrlBytes, "encoded twice"),
        (ClassVar[int], "inside a class only"),
        (Self, "inside a class only"),
        (list[Self | None], "inside a class only"),  # type: ignore[misc]
        (Builder, "LookupError: there is no such table"),
        (Described, "ZeroDivisionError: by nothing"),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_what_no_json_is_or_has_no_schema_is_refused_with_its_parameter(
    annotation: Any, reason: str, inside: bool
) -> None:
    def take(city: str, value: Any) -> None: ...

    take.__annotations__["value"] = (
        Annotated[annotation, Field(title="T")] if inside else annotation
    )

    error = refused(take)

    assert error.parameter == "value"
    assert reason in error.reason


class Held(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    conn: Conn


@pytest.mark.parametrize(
    "annotation",
    [
        *(Callable[[int], int], type[int], Literal[b"x"], Empty, Base64Bytes, Held, Described),
        *(list[Held], dict[str, type[int]], Held | None, Literal[()], tuple[int, Empty]),
    ],
)
def test_a_result_that_no_json_is_is_refused_at_once(annotation: Any) -> None:
    def give() -> Any: ...

    give.__annotations__["return"] = annotation

    assert "its return type" in refused(give).reason


def test_a_class_may_speak_of_itself() -> None:
    class Chain(BaseModel):
        kind: ClassVar[str] = "chain"
        rest: Self | None = None

    @dataclasses.dataclass
    class Counted:
        kind: ClassVar[str] = "counted"
        number: int = 0

    def take(chain: Any, counted: Any) -> None: ...

    take.__annotations__.update(chain=Chain, counted=Counted)
    prepared = built(take).prepare({"chain": {"rest": {}}, "counted": {"number": 1}})

    assert prepared.values == {"chain": Chain(rest=Chain()), "counted": Counted(1)}
