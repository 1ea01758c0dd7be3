"""salvor: the pipeline of a call in memory, and a durable call with the store in memory."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

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
from salvor.registry.registry import Registry
from salvor.tools.context import Context
from salvor.tools.function import FunctionTool

NAME = "salvor"


def _context() -> Context:
    return Context(
        run_id="r",
        position=1,
        attempt=1,
        epoch=1,
        idempotency_key="k",
        logger=logging.getLogger(__name__),
    )


@asynccontextmanager
async def _in_memory(function: Function) -> AsyncIterator[Calls]:
    registry, context = Registry(), _context()
    name = registry.add_function(function, effect="write", idempotency_key="claim_id").name

    async def call(text: str) -> object:
        tool = registry.get(name)
        prepared = tool.prepare_text(text)
        tool.key(prepared.arguments)
        args, kwargs = tool.arguments(prepared.values, context, {})
        return tool.write_output(await tool.fn(*args, **kwargs))[1]

    yield repeated(call)


@asynccontextmanager
async def _durable(function: Function) -> AsyncIterator[Calls]:
    from benchmarks.peers.durable_calls import opened

    async with opened(function) as calls:
        yield calls


def _registered(look: Callable[[FunctionTool], object]) -> Callable[[], Register]:
    def opened() -> Register:
        registry = Registry()
        return lambda function: look(registry.add_function(function, effect="write"))

    return opened


def _listed(form: Literal["mcp", "openai", "openai-strict"]) -> Callable[..., Listing]:
    def opened(functions: Sequence[Function]) -> Listing:
        from salvor.registry.exports import to_form

        registry = Registry()
        for function in functions:
            registry.add_function(function, effect="write")

        async def listing() -> list[dict[str, Any]]:
            return [to_form(tool, form).definition for tool in registry.tools()]

        return listing

    return opened


PEER = Peer(
    name=NAME,
    imports=(
        "from salvor import tool",
        "from salvor import Registry",
        "from salvor import Registry, open_runtime, tool, workflow",
    ),
    calls=(
        CallPath(
            name=f"{NAME} in memory",
            says="lookup, FunctionTool.prepare_text (strict JSON, strict validation, the published "
            "schema), the key, the function, FunctionTool.write_output: checked, as canonical text",
            open=_in_memory,
        ),
        CallPath(
            name=f"{NAME} durable, memory store",
            says="run.call_named within a run: the same, the canonical text of the arguments, and "
            "an intent before and a completion after, hashed, fenced and appended to a log; no "
            "peer here does this",
            open=_durable,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="Registry.add_function: docstring and input schema; the output schema, and the "
            "check by the input schema of plain types, are built when first needed",
            open=_registered(lambda tool: tool.input_schema),
        ),
        Registering(
            name=f"{NAME}, output schema too",
            says="the same, and the output schema, as most peers build it at once; of a model it "
            "is made once, and all functions here return the same model",
            open=_registered(lambda tool: tool.output_schema),
        ),
    ),
    lists=(
        Lists(
            name=f"{NAME} (MCP)",
            says="to_form of each tool, sorted; the first time made and checked against the form's "
            "rules, then a copy for each caller of what was made",
            open=_listed("mcp"),
        ),
        Lists(
            name=f"{NAME} (OpenAI)",
            says="the same, for the Responses API",
            open=_listed("openai"),
        ),
        Lists(
            name=f"{NAME} (OpenAI strict)",
            says="the same, in strict mode",
            open=_listed("openai-strict"),
        ),
    ),
)
