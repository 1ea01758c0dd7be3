"""pydantic-ai: a function toolset by itself, and through the manager that an agent run uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, RunUsage
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager

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

NAME = "pydantic-ai"


def _toolset(functions: Sequence[Function]) -> Any:
    toolset = FunctionToolset()
    for function in functions:
        toolset.add_function(function)
    return toolset


def _context() -> Any:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage())


def _sent(name: str, result: object) -> object:
    return ToolReturnPart(tool_name=name, content=result, tool_call_id="1").model_response_str()


@asynccontextmanager
async def _by_toolset(function: Function) -> AsyncIterator[Calls]:
    name, toolset, context = function.__name__, _toolset([function]), _context()
    tool = (await toolset.get_tools(context))[name]

    async def call(text: str) -> object:
        arguments = tool.args_validator.validate_json(text)
        return _sent(name, await toolset.call_tool(name, arguments, context, tool))

    yield repeated(call)


@asynccontextmanager
async def _by_manager(function: Function) -> AsyncIterator[Calls]:
    name = function.__name__
    manager = await ToolManager(_toolset([function])).for_run_step(_context())

    async def call(text: str) -> object:
        part = ToolCallPart(tool_name=name, args=text, tool_call_id="1")
        return _sent(name, await manager.handle_call(part, wrap_validation_errors=False))

    yield repeated(call)


def _registered() -> Register:
    register: Register = FunctionToolset().add_function
    return register


def _listed(functions: Sequence[Function]) -> Listing:
    toolset, context = _toolset(functions), _context()

    async def listing() -> list[dict[str, Any]]:
        definitions = [tool.tool_def for tool in (await toolset.get_tools(context)).values()]
        return [
            {
                "name": one.name,
                "description": one.description,
                "parameters": one.parameters_json_schema,
            }
            for one in definitions
        ]

    return listing


PEER = Peer(
    name=NAME,
    imports=("from pydantic_ai import FunctionToolset",),
    calls=(
        CallPath(
            name=f"{NAME} toolset",
            says="the toolset's args_validator.validate_json, FunctionToolset.call_tool, "
            "ToolReturnPart.model_response_str",
            open=_by_toolset,
        ),
        CallPath(
            name=f"{NAME} manager",
            says="ToolManager.handle_call, as an agent run does it: lookup, retry budget, hooks, "
            "usage; then ToolReturnPart.model_response_str",
            open=_by_manager,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="FunctionToolset.add_function: docstring, both schemas, validator",
            open=_registered,
        ),
    ),
    lists=(
        Lists(
            name=NAME,
            says="FunctionToolset.get_tools, and the fields of each definition; schemas are "
            "shared, not copied; the last step to a provider's form is private to its models "
            "and not in the figure",
            open=_listed,
        ),
    ),
)
