"""Invented signatures and arguments, the same ones for the same seed."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import random
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired
from uuid import UUID

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from salvor.tools.contract import ToolMeta
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import JsonObject, JsonValue, canonical_json

META = ToolMeta(effect="read", name="invented", description="It does.")
NAMES = (
    *("a", "b", "city", "copy", "schema", "json", "model_dump", "model_config", "_x", "__y"),
    *("args", "kwargs", "config", "callbacks", "title", "type", "properties", "required", "name"),
    *("values", "validate", "dict", "fields", "construct", "info", "context", "self", "cls"),
)


class Tint(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str | None = None


class Tree(BaseModel):
    value: int
    below: list[Tree] = []


@dataclasses.dataclass
class Size:
    width: int
    height: float = 1.0


class Pair(NamedTuple):
    left: int
    right: str = ""


class Options(TypedDict):
    depth: int
    tint: NotRequired[Tint]


LEAVES: tuple[Any, ...] = (
    *(int, float, str, bool, None, Any, bytes, Decimal, UUID, Path, date, datetime, time),
    *(timedelta, Tint, Level, Tree, Size, Pair, Options, Literal["a", 1, None], Literal[1, 2]),
    *(Annotated[int, Field(ge=0, le=9)], Annotated[str, Field(pattern="^a+$", max_length=3)]),
    *(Annotated[float, Field(gt=-1)], Annotated[list[int], Field(min_length=1)]),
    Annotated[Cat | Dog, Field(discriminator="kind")],
)
KEYS: tuple[Any, ...] = (str, str, int, Tint)
HASHABLE: tuple[Any, ...] = (int, str, Tint, UUID, float)

WORDS = (
    *("", " ", "a", "aa", "red", "cat", "5", "-5", "5.0", "5.5", "1e3", "007", " 5 ", "true"),
    *("null", "NaN", "[1, 2]", '{"depth": 1}', "[true]", "{", "aGk=", "2026-01-31", "12:30:00"),
    *(
        "2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00",
        "PT1H",
        "-P1DT0.5S",
        "P1Y",
        "1:00:00",
        "é",
        "\u2028",
        "0",
        "1",
        "blue",
    ),
    *("12345678-1234-5678-1234-567812345678", "9007199254740993", '{"value": "3"}'),
)
BY_FORMAT: dict[str | None, tuple[str, ...]] = {
    "uuid": ("12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678", "a"),
    "date": ("2026-01-31", "2026-01-31", "2026-02-30", "2026-01-31T00:00:00Z"),
    "date-time": (
        *("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+01:00", "2026-01-31T12:00:00"),
        *("2026-01-31t12:00:00z", "2026-01-31 12:00:00Z", "1769860800"),
    ),
}
FIELDS = ("kind", "lives", "name", "value", "below", "width", "height", "depth", "tint", "x")


class Inventor:
    """Makes signatures, and arguments that nearly fit them."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def annotation(self, depth: int = 2) -> Any:
        choose = self.chance.choice
        shape = self.chance.random() if depth else 0.0
        if shape < 0.55:
            return choose(LEAVES)
        inner: Callable[[], Any] = lambda: self.annotation(depth - 1)  # noqa: E731
        makers: tuple[Callable[[], Any], ...] = (
            lambda: list[inner()],  # type: ignore[misc]
            lambda: dict[choose(KEYS), inner()],  # type: ignore[misc]
            lambda: tuple[inner(), inner()],  # type: ignore[misc]
            lambda: tuple[inner(), ...],  # type: ignore[misc]
            lambda: set[choose(HASHABLE)],  # type: ignore[misc]
            lambda: frozenset[choose(HASHABLE)],  # type: ignore[misc]
            lambda: _either(inner(), inner()),
            lambda: _either(inner(), None),
        )
        return choose(makers)()

    def tool(self) -> FunctionTool:
        """A tool with up to five parameters of all kinds."""
        names = self.chance.sample(NAMES, self.chance.randint(0, 5))
        kinds = sorted(self.chance.choices((0, 1, 3), k=len(names)))
        parameters: list[inspect.Parameter] = []
        defaulted = False
        for name, kind in zip(names, kinds, strict=True):
            defaulted = self.chance.random() < 0.3 or (defaulted and kind != 3)
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect._ParameterKind(kind),
                    annotation=self.annotation(),
                    default=self.chance.choice((None, 5, "a", ())) if defaulted else inspect._empty,
                )
            )
        signature = inspect.Signature(parameters)

        def invented(*args: Any, **kwargs: Any) -> dict[str, Any]:
            return dict(signature.bind(*args, **kwargs).arguments)

        invented.__signature__ = signature  # type: ignore[attr-defined]
        return function_tool(invented, meta=META)

    def arguments(self, tool: FunctionTool) -> JsonObject:
        """An object that mostly has the right keys, with values near the schema."""
        schema: Any = tool.input_schema
        found: JsonObject = {}
        for name, property_ in schema["properties"].items():
            if name in schema.get("required", ()) or self.chance.random() < 0.5:
                found[name] = self.near(property_, schema.get("$defs", {}))
        if found and self.chance.random() < 0.05:
            del found[self.chance.choice(list(found))]
        if self.chance.random() < 0.05:
            found[self.chance.choice(NAMES)] = self.any_value()
        return found

    def near(self, schema: Any, defs: Any, depth: int = 4) -> JsonValue:
        """A value that fits a schema more often than not."""
        if depth == 0 or self.chance.random() < 0.04:
            return self.any_value()
        if "$ref" in schema:
            return self.near(defs[schema["$ref"].rpartition("/")[2]], defs, depth)
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.near(self.chance.choice(schema[word]), defs, depth)
        if "enum" in schema or "const" in schema:
            fixed: JsonValue = self.chance.choice(schema.get("enum") or [schema["const"]])
            return fixed
        found = self._of_kind(schema, defs, depth - 1)
        as_text = isinstance(found, list | dict) and self.chance.random() < 0.1
        return canonical_json(found) if as_text else found

    def _of_kind(self, schema: Any, defs: Any, depth: int) -> JsonValue:
        kind = schema.get("type")
        if kind == "array":
            fixed = [self.near(item, defs, depth) for item in schema.get("prefixItems", ())]
            more = schema.get("items") if not fixed else None
            count = self.chance.randint(0, 3)
            return fixed or [self.near(more or {}, defs, depth) for _ in range(count)]
        if kind == "object":
            found: JsonObject = {
                name: self.near(property_, defs, depth)
                for name, property_ in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or self.chance.random() < 0.5
            }
            extra = schema.get("additionalProperties")
            if isinstance(extra, dict):
                key = self.chance.choice(("1", "red", "k"))
                found[key] = self.near(extra, defs, depth)
            return found
        return self.scalar(kind, schema.get("format"))

    def scalar(self, kind: str | None, format_: str | None = None) -> JsonValue:
        choose = self.chance.choice
        by_kind: dict[str | None, Callable[[], JsonValue]] = {
            "integer": lambda: choose((0, 1, -1, 5, 2**53 + 1, 5.0, "5", True)),
            "number": lambda: choose((0, 1.5, -0.0, 1e300, 3, "1.5", False)),
            "string": lambda: choose(BY_FORMAT.get(format_, WORDS)),
            "boolean": lambda: choose((True, False)),
            "null": lambda: None,
        }
        return by_kind.get(kind, self.any_value)()

    def any_value(self) -> JsonValue:
        """Anything at all."""
        choose = self.chance.choice
        shape = self.chance.random()
        if shape < 0.08:
            return [self.any_value() for _ in range(self.chance.randint(0, 2))]
        if shape < 0.16:
            return {choose(FIELDS): self.any_value() for _ in range(self.chance.randint(0, 2))}
        numbers = (0, 1, 5, -3, 2.0, 2.5, 10**20, 1e-9)
        return choose((None, True, False, choose(numbers), choose(WORDS)))


def _either(left: Any, right: Any) -> Any:
    from typing import Union

    return Union[left, right]  # noqa: UP007
