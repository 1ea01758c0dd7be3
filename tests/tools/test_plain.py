"""Python values to JSON, exactly as they were passed."""

from __future__ import annotations

import dataclasses
import enum
import subprocess
import sys
from collections import OrderedDict
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field

from salvor.errors import JsonRefused
from salvor.tools.plain import to_json
from salvor.values import canonical_json


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    A = "a"


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    name: str
    age: int = 1


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


class Home(BaseModel):
    model_config = ConfigDict(extra="allow")

    pets: list[Cat | Dog]
    tags: set[str] = Field(default_factory=set, alias="labels")
    pair: tuple[Cat, int] | None = None


@dataclasses.dataclass
class Size:
    width: int
    parts: set[str]


CASES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (Level.LOW, 1),
    (Word.A, "a"),
    ((1, "a"), [1, "a"]),
    (OrderedDict(a=1), {"a": 1}),
    ({1: "a", Word.A: 2}, {"1": "a", "a": 2}),
    ({3, 10, 2}, [10, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({(2, "b"), (1, "a")}, [[1, "a"], [2, "b"]]),
    (b"\xfb\xff", "+/8="),
    (bytearray(b"hi"), "aGk="),
    (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00Z"),
    (date(2026, 1, 31), "2026-01-31"),
    (Decimal("1.50"), "1.50"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Path("a/b"), "a/b"),
    (Size(width=1, parts={"b", "a"}), {"width": 1, "parts": ["a", "b"]}),
    (10**30, 10**30),
]


@pytest.mark.parametrize(("value", "encoded"), CASES)
def test_a_value_has_one_json_form(value: Any, encoded: Any) -> None:
    assert canonical_json(to_json(value)) == canonical_json(encoded)


def test_a_model_gives_what_was_set_and_its_tags() -> None:
    more: dict[str, Any] = {"more": {"deep": {"b", "a"}}}
    home = Home(
        pets=[Cat(name="a"), Dog(name="b")],
        labels={"y", "x"},
        pair=(Cat(name="c", age=2), 1),
        **more,
    )

    assert to_json({"home": home}) == {
        "home": {
            "pets": [{"kind": "cat", "name": "a"}, {"kind": "dog", "name": "b"}],
            "labels": ["x", "y"],
            "pair": [{"kind": "cat", "name": "c", "age": 2}, 1],
            "more": {"deep": ["a", "b"]},
        }
    }


def test_a_model_is_not_changed_by_being_read() -> None:
    home = Home(pets=[Cat(name="a")])

    to_json(home)

    assert home.model_fields_set == {"pets"}
    assert home.pets[0].model_fields_set == {"name"}
    assert home.tags == set()


def test_a_whole_model_gives_all_its_fields() -> None:
    assert to_json([Cat(name="a")], whole=True) == [{"kind": "cat", "name": "a", "age": 1}]


@pytest.mark.parametrize(
    "value",
    [
        Cat.model_construct(name=float("nan")),
        object(),
        print,
        float("nan"),
        {"a": [float("inf")]},
        "\ud800",
        {1: 1, "1": 2},
    ],
)
def test_what_has_no_json_form_is_refused(value: Any) -> None:
    with pytest.raises(JsonRefused, match="the value"):
        to_json(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = [loop]

    with pytest.raises(JsonRefused, match="nested"):
        to_json(loop)


def test_sets_come_in_the_same_order_in_every_process() -> None:
    script = (
        "from salvor.tools.plain import to_json\n"
        "from pydantic import BaseModel\n"
        "class M(BaseModel): s: set[str]\n"
        "print(to_json([{'a', 'b', 'c', 'd'}, M(s={'a', 'b', 'c', 'd'})]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(found) == 1
