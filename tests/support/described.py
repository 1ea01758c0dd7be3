"""Functions as tools, for tests of what is read from them."""

from __future__ import annotations

import dataclasses
import enum
import warnings
from typing import Any

import pytest
from pydantic import BaseModel

from salvor.errors import ToolDefinitionError
from salvor.tools.contract import ToolMeta
from salvor.tools.function import FunctionTool, function_tool

READ = ToolMeta(effect="read", description="It does.")


class Style(enum.Enum):
    DOT = "dot"
    LINE = "line"


class Point(BaseModel):
    """A place."""

    x: int
    y: int = 0


class Node(BaseModel):
    label: str
    kids: list[Node] = []


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Conn:
    """A connection, which is no JSON."""


def built(function: Any, meta: ToolMeta = READ) -> FunctionTool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function_tool(function, meta=meta)


def properties(function: Any) -> dict[str, Any]:
    found: Any = built(function).input_schema["properties"]
    return dict(found)


def refused(function: Any, meta: ToolMeta = READ) -> ToolDefinitionError:
    with pytest.raises(ToolDefinitionError) as caught:
        built(function, meta)
    return caught.value
