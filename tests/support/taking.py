"""Tools of one parameter, for tests of what arguments become."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from pydantic import (
    BaseModel,
)

from salvor.errors import ArgumentsRefused, Problem
from salvor.tools.contract import ToolMeta
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import JsonObject

READ = ToolMeta(effect="read", description="It does.")


class Mark(enum.Enum):
    DOT = "dot"
    ONE = 1


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(BaseModel):
    x: int
    y: int = 0


def taking(annotation: Any, *default: Any) -> FunctionTool:
    """A tool of one parameter ``value``."""

    def take(value: Any) -> None: ...

    take.__annotations__["value"] = annotation
    take.__defaults__ = default or None
    return function_tool(take, meta=READ)


def problems(tool: FunctionTool, raw: JsonObject) -> tuple[Problem, ...]:
    with pytest.raises(ArgumentsRefused) as caught:
        tool.prepare(raw)
    return caught.value.problems
