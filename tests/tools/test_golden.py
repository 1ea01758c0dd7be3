"""Schemas as bytes: the same on every interpreter, so that a digest means the same everywhere.

To accept a change on purpose: ``python -m tests.tools.test_golden``.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType, TypedDict, Unpack

from salvor.tools.context import INJECTED, Context
from salvor.tools.contract import ToolMeta
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import canonical_json, compact_json

GOLDEN = Path(__file__).with_name("golden")
READ = ToolMeta(effect="read")


class Tint(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """How urgent it is."""

    LOW = 1
    HIGH = 2


class Cat(BaseModel):
    """A cat."""

    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: Optional[str] = None  # noqa: UP045


class Tree(BaseModel):
    """A tree of trees.

    With a second paragraph.
    """

    value: int
    below: list[Tree] = []


@dataclasses.dataclass
class Size:
    width: int
    height: float = 1.0
    tags: list[str] = dataclasses.field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str = ""


class Options(TypedDict, total=False):
    """Options."""

    depth: int
    tint: NotRequired[Tint]


Json = TypeAliasType("Json", "list[Json] | dict[str, Json] | int | None")


def scalars(
    a: int,
    b: float | None,
    c: str = "x",
    d: bool = False,
    e: bytes = b"hi",
    f: Decimal = Decimal("1.50"),
    g: UUID = UUID(int=1),  # noqa: B008
    h: Path = Path("a/b"),
    i: None = None,
    j: int = None,  # type: ignore[assignment]  # noqa: RUF013
) -> str:
    """Take scalars.

    Args:
        a: The first.
        b: The second,
            which may be null.
    """
    return ""


def instants(a: datetime, b: date, c: time, d: timedelta, *, e: datetime | None = None) -> datetime:
    """Take instants."""
    return a


def containers(
    a: list[int],
    b: dict[str, list[Tint]],
    c: dict[int, Level],
    d: set[str],
    e: frozenset[int] = frozenset({3, 1, 2}),
    f: tuple[int, str] = (1, "x"),
    g: tuple[int, ...] = (),
    h: dict[str, Any] | list[int] | None = None,
) -> set[str]:
    """Take containers."""
    return d


def shapes(
    size: Size,
    pair: Pair,
    tree: Tree,
    options: Options,
    pet: Annotated[Cat | Dog, Field(discriminator="kind", description="Which.")],
    level: Level = Level.LOW,
    tint: Tint = Tint.RED,
    word: Literal["a", 1, None] = "a",
    json_: Json = None,
) -> Tree:
    """Take shapes."""
    return tree


def hostile(
    schema: str,
    copy: Annotated[int, Field(ge=0, le=9)],
    model_config: int = 1,
    _x: int = 2,
    self: Annotated[str, "Who."] = "me",
    from_: int = Field(3, alias="from", description="Since."),
    ctx: Context = INJECTED,
    **title: Unpack[Options],
) -> None:
    """Take names that clash."""


FUNCTIONS: list[Callable[..., Any]] = [scalars, instants, containers, shapes, hostile]


def text_of(tool: FunctionTool) -> str:
    """Both schemas, as they are published and as they count for the digest."""
    return "\n".join(
        [
            f"input  {compact_json(tool.input_schema)}",
            f"output {canonical_json(tool.output_schema)}",
            f"digest {tool.digest}",
            "",
        ]
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_schemas_are_these_bytes(function: Callable[..., Any]) -> None:
    tool = function_tool(function, meta=READ)

    assert text_of(tool) == (GOLDEN / f"{function.__name__}.txt").read_text()


def test_no_text_of_the_process_gets_into_a_schema() -> None:
    for function in FUNCTIONS:
        text = text_of(function_tool(function, meta=READ))
        assert " at 0x" not in text
        assert "tests." not in text
        assert "<" not in text


if __name__ == "__main__":
    for one in FUNCTIONS:
        (GOLDEN / f"{one.__name__}.txt").write_text(text_of(function_tool(one, meta=READ)))
