"""The MCP SDK's high-level server, without a client or a transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import MCPServer
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

NAME = "MCP SDK"


def _server(functions: Sequence[Function]) -> Any:
    server = MCPServer("benchmark")
    for function in functions:
        server.add_tool(function)
    return server


@asynccontextmanager
async def _called(function: Function) -> AsyncIterator[Calls]:
    server, name = _server([function]), function.__name__

    async def call(text: str) -> object:
        return await server.call_tool(name, from_json(text))

    yield repeated(call)


def _registered() -> Register:
    server: Any = MCPServer("benchmark")

    def register(function: Function) -> None:
        server.add_tool(function)

    return register


def _listed(functions: Sequence[Function]) -> Listing:
    server = _server(functions)

    async def listing() -> list[dict[str, Any]]:
        tools = await server.list_tools()
        return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in tools]

    return listing


PEER = Peer(
    name=NAME,
    imports=("from mcp.server.mcpserver import MCPServer",),
    calls=(
        CallPath(
            name=NAME,
            says="from_json, MCPServer.call_tool: lookup, validation, text and structured content "
            "in a CallToolResult",
            open=_called,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="MCPServer.add_tool: both schemas; the docstring is copied, not parsed",
            open=_registered,
        ),
    ),
    lists=(
        Lists(
            name=f"{NAME} (MCP)",
            says="MCPServer.list_tools and the dump of each, as sent to a client",
            open=_listed,
        ),
    ),
)
