"""openai-agents: a function tool as its runner invokes it, with and without an output type."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from agents import ItemHelpers, function_tool
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall
from pydantic import TypeAdapter

from benchmarks.peers.case import Function, Receipt
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

NAME = "openai-agents"


def _called(
    output: type[Receipt] | None,
) -> Callable[[Function], AbstractAsyncContextManager[Calls]]:
    @asynccontextmanager
    async def opened(function: Function) -> AsyncIterator[Calls]:
        tool: Any = function_tool(function, failure_error_function=None, output_type=output)
        adapter = None if output is None else TypeAdapter(output)

        async def call(text: str) -> object:
            context: Any = ToolContext(
                None, tool_name=tool.name, tool_call_id="1", tool_arguments=text
            )
            asked = ResponseFunctionToolCall(
                arguments=text, call_id="1", name=tool.name, type="function_call"
            )
            result = await tool.on_invoke_tool(context, text)
            return ItemHelpers.tool_call_output_item(asked, result, output_type_adapter=adapter)

        yield repeated(call)

    return opened


def _registered() -> Register:
    register: Register = function_tool
    return register


def _listed(functions: Sequence[Function]) -> Listing:
    from agents.models.openai_responses import Converter

    tools: list[Any] = [function_tool(function) for function in functions]

    async def listing() -> list[dict[str, Any]]:
        converted: list[dict[str, Any]] = list(Converter.convert_tools(tools, []).tools)
        return converted

    return listing


PEER = Peer(
    name=NAME,
    imports=("from agents import function_tool",),
    calls=(
        CallPath(
            name=NAME,
            says="FunctionTool.on_invoke_tool, ItemHelpers.tool_call_output_item; a model that "
            "the function returns is sent as its repr",
            open=_called(None),
        ),
        CallPath(
            name=f"{NAME} output_type",
            says="the same with output_type=Receipt: the output is validated and sent as JSON",
            open=_called(Receipt),
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="function_tool: docstring, input schema, its strict form",
            open=_registered,
        ),
    ),
    lists=(
        Lists(
            name=f"{NAME} (strict)",
            says="Converter.convert_tools of the Responses API; schemas are shared, not copied",
            open=_listed,
        ),
    ),
)
