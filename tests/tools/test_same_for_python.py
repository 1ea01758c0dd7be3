"""What Python holds for the same and JSON does not: booleans, numbers, keys, encodings."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias
from uuid import UUID

import pytest
from pydantic import BaseModel, Field

from salvor.tools.schema import ValueType
from tests.support.taking import Mark, Rank, problems, taking


class Flag(enum.Enum):
    YES = True
    ONE = "1"


@pytest.mark.parametrize(
    ("annotation", "value", "python"),
    [
        (Literal[1, 2] | bool, True, True),
        (Literal[1, 2] | bool, 1, 1),
        (Literal[0] | bool | None, False, False),
        (list[Literal[0]] | list[bool], [False], [False]),
        (Literal[1, True], 1, 1),
        (Literal[1, True], 1.0, 1),
        (Literal[1, True], True, True),
        (Literal["a", 1], 1.0, 1),
        (Rank | bool, True, True),
        (list[Rank] | list[bool], [True], [True]),
        (Rank, 1, Rank.LOW),
        (Mark | bool, 1, Mark.ONE),
        (Flag, True, Flag.YES),
    ],
)
def test_a_boolean_stays_one_and_a_number_too(annotation: Any, value: Any, python: Any) -> None:
    found = taking(annotation).prepare({"value": value}).values["value"]
    again = ValueType(annotation, where="x").decode(value)

    assert (found, type(found)) == (python, type(python))
    assert (again, type(again)) == (python, type(python))
    if isinstance(python, list):
        assert type(found[0]) is type(python[0])


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Literal[1, 2], True),
        (Literal[0, "a"], False),
        (Rank, True),
        (Literal[True], 1),
        (Flag, 1),
        (list[Literal[1]], [True]),
    ],
)
def test_neither_is_taken_for_the_other(annotation: Any, value: Any) -> None:
    (problem,) = problems(taking(annotation), {"value": value})

    assert problem.pointer.startswith("/value")


class Level(BaseModel):
    level: Literal[1, 2] | bool
    below: list[Level] = []


def test_it_holds_inside_models_that_hold_themselves() -> None:
    raw: Any = {"value": {"level": True, "below": [{"level": 1}, {"level": False}]}}
    found = taking(Level).prepare(raw).values["value"]

    assert [found.level, *(one.level for one in found.below)] == [True, 1, False]
    assert type(found.level) is bool and type(found.below[0].level) is int


KEYS: list[tuple[Any, list[str], list[str]]] = [
    (int, ["1", "-5", "0"], ["01", " 1", "1.0", "1_0", "+1", "-0", "a", ""]),
    (Rank, ["1", "2"], ["3", "LOW", "01", "1.0"]),
    (Mark, ["dot"], ["DOT", "x"]),
    (Literal["a", "b"], ["a"], ["c"]),
    (Literal["a", 1], ["a"], ["1", "b"]),
    (UUID, ["12345678-1234-5678-1234-567812345678"], ["1", "a"]),
    (float, ["1", "1.5", "-2e3"], ["NaN", "inf", "1_0", " 1", "a"]),
    (bool, ["true", "false"], ["1", "yes", "True"]),
    (Annotated[str, Field(pattern="^a")], ["a", "ab"], ["b", ""]),
    (Path, ["a/b"], []),
    (str | int, ["1", "a", "01"], []),
]


@pytest.mark.parametrize(("key", "good", "bad"), KEYS, ids=[str(row[0]) for row in KEYS])
def test_keys_of_an_object_have_one_spelling(key: Any, good: list[str], bad: list[str]) -> None:
    annotation: TypeAlias = dict[key, int]
    tool = taking(annotation)
    output = ValueType(annotation, where="x")

    for name in good:
        raw: Any = {"value": {name: 3}}
        prepared = tool.prepare(raw)
        assert prepared.arguments == raw
        assert output.decode(output.encode(prepared.values["value"])) == {
            next(iter(prepared.values["value"])): 3
        }
    for name in bad:
        assert not tool.input.check.is_valid({"value": {name: 3}})
        assert problems(tool, {"value": {name: 3}})


def test_keys_of_one_meaning_cannot_hide_each_other() -> None:
    found = problems(taking(dict[int, str]), {"value": {"1": "shown", "01": "taken"}})

    assert found[0].pointer.startswith("/value")


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"


def test_a_union_by_a_tag_needs_the_tag_also_where_its_arms_have_defaults() -> None:
    tool = taking(Annotated[Cat | Dog, Field(discriminator="kind")])

    assert not tool.input.check.is_valid({"value": {}})
    assert problems(tool, {"value": {}})[0].expected == "an object with the field 'kind'"
    assert (
        problems(tool, {"value": {"kind": "cow"}})[0].expected
        == "an object whose 'kind' is 'cat' or 'dog'"
    )
    assert tool.prepare({"value": {"kind": "dog"}}).values["value"] == Dog()


@pytest.mark.parametrize("text", ["", "aGk=", "aA==", "AAAA", "/+8="])
def test_base64_is_read_to_the_byte(text: str) -> None:
    tool = taking(bytes)
    prepared = tool.prepare({"value": text})

    assert tool.bind((prepared.values["value"],), {}) == {"value": text}


@pytest.mark.parametrize("text", ["aGk", "red", "aGl=", "aA=", "_-8=", "a", "aGk=\n", " aGk=", "é"])
def test_base64_of_other_kinds_is_refused_in_plain_words(text: str) -> None:
    tool = taking(bytes)

    assert not tool.input.check.is_valid({"value": text})
    assert problems(tool, {"value": text})[0].expected == "text in base64"
