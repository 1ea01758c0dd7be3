"""Bare pydantic: the floor. A model of the arguments written by hand, and nothing around it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, create_model

from benchmarks.peers.case import Function
from benchmarks.peers.peer import CallPath, Calls, Listing, Lists, Peer, Register, Registering

NAME = "bare pydantic"


class Arguments(BaseModel):
    claim_id: str
    amount_cents: int
    urgent: bool = False
    tags: list[str] | None = None


@asynccontextmanager
async def _called(function: Function) -> AsyncIterator[Calls]:
    async def many(text: str, count: int) -> object:
        last: object = None
        for _ in range(count):
            arguments = Arguments.model_validate_json(text)
            last = (await function(**arguments.__dict__)).model_dump_json()
        return last

    yield many


def _registered() -> Register:
    return lambda function: _model(function).model_json_schema()


def _model(function: Function) -> type[BaseModel]:
    return create_model(
        function.__name__,
        claim_id=(str, ...),
        amount_cents=(int, ...),
        urgent=(bool, False),
        tags=(list[str] | None, None),
    )


def _listed(functions: Sequence[Function]) -> Listing:
    models = [(one.__name__, one.__doc__, _model(one)) for one in functions]

    async def listing() -> list[dict[str, Any]]:
        return [
            {"name": name, "description": doc, "inputSchema": model.model_json_schema()}
            for name, doc, model in models
        ]

    return listing


PEER = Peer(
    name=NAME,
    imports=("from pydantic import BaseModel",),
    calls=(
        CallPath(
            name=NAME,
            says="model_validate_json, the function, model_dump_json; no tool, no lookup",
            open=_called,
        ),
    ),
    registering=(
        Registering(
            name=NAME,
            says="create_model and model_json_schema; no signature read, no docstring",
            open=_registered,
        ),
    ),
    lists=(Lists(name=NAME, says="model_json_schema of every model, each time", open=_listed),),
)
