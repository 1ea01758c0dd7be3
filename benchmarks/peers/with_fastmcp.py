"""fastmcp: a tool by itself, and through its server, without a client or a transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import FastMCP
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

NAME = "fastmcp"


@asynccontextmanager
async def _by_tool(function: Function) -> AsyncIterator[Calls]:
    tool: Any = FastMCP("benchmark").add_tool(function)

    async def call(text: str) -> object:
        return (await tool.run(from_json(text))).to_mcp_result()

    yield repeated(call)


@asynccontextmanager
async def _by_server(function: Function) -> AsyncIterator[Calls]:
    server: Any = FastMCP("benchmark")
    name = server.add_tool(function).name

    async def call(text: str) -> object:
        return (await server.call_tool(name, from_json(text))).to_mcp_result()

    yield repeated(call)


def _registered() -> Register:
    register: Register = FastMCP("benchmark").add_tool
    return register


def _listed(functions: Sequence[Function]) -> Listing:
    server: Any = FastMCP("benchmark")
    for function in functions:
        server.add_tool(function)

    async def listing() -> list[dict[str, Any]]:
        tools = [tool.to_mcp_tool() for tool in await server.list_tools()]
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in tools]

    return listing


PEER = Peer(
    name=NAME,
    imports=("from fastmcp import FastMCP",),
    calls=(
        CallPath(
            name=f"{NAME} tool",
            says="from_json, Tool.run, ToolResult.to_mcp_result: text and structured content",
            open=_by_tool,
        ),
        CallPath(
            name=f"{NAME} server",
            says="from_json, FastMCP.call_tool: context, middleware chain, tracing span, lookup; "
            "then to_mcp_result",
            open=_by_server,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="FastMCP.add_tool: docstring and both schemas; the validator is built at the "
            "first call",
            open=_registered,
        ),
    ),
    lists=(
        Lists(
            name=f"{NAME} (MCP)",
            says="FastMCP.list_tools, to_mcp_tool and its dump, as sent to a client",
            open=_listed,
        ),
    ),
)
