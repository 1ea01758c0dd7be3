"""langchain-core: a structured tool that is invoked with a model's tool call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from langchain_core.tools import StructuredTool
from pydantic_core import from_json

from benchmarks.peers.case import Function
from benchmarks.peers.peer import (
    CallPath,
    Calls,
    Listing,
    Lists,
    Peer,
    Register,
    Registering,
    repeated,
)

NAME = "langchain-core"


def _tool(function: Function) -> Any:
    return StructuredTool.from_function(coroutine=function, parse_docstring=True)


@asynccontextmanager
async def _called(function: Function) -> AsyncIterator[Calls]:
    tool = _tool(function)

    async def call(text: str) -> object:
        asked = {"type": "tool_call", "id": "1", "name": tool.name, "args": from_json(text)}
        return await tool.ainvoke(asked)

    yield repeated(call)


def _registered() -> Register:
    return lambda function: _tool(function).tool_call_schema.model_json_schema()


def _listed(functions: Sequence[Function]) -> Listing:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    tools = [_tool(function) for function in functions]

    async def listing() -> list[dict[str, Any]]:
        return [convert_to_openai_tool(tool) for tool in tools]

    return listing


PEER = Peer(
    name=NAME,
    imports=("from langchain_core.tools import StructuredTool",),
    calls=(
        CallPath(
            name=NAME,
            says="from_json, StructuredTool.ainvoke of a tool call: callbacks, validation; a "
            "ToolMessage comes back, and a model that the function returns is in it as its repr",
            open=_called,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="StructuredTool.from_function(parse_docstring=True) and its schema",
            open=_registered,
        ),
    ),
    lists=(Lists(name=f"{NAME} (OpenAI)", says="convert_to_openai_tool of each", open=_listed),),
)
