"""LangGraph: a graph with one node a call, its checkpoints on SQLite."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.engines.engine import Engine, Way


class State(TypedDict):
    done: int
    calls: int
    last: str


def note(state: State) -> dict[str, Any]:
    return {"done": state["done"] + 1, "last": "noted"}


async def note_async(state: State) -> dict[str, Any]:
    return {"done": state["done"] + 1, "last": "noted"}


def _graph(node: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("note", node)
    graph.add_edge(START, "note")
    graph.add_conditional_edges("note", _next, {"note": "note", END: END})
    return graph


def _next(state: State) -> str:
    return "note" if state["done"] < state["calls"] else END


def _words(run: int, calls: int) -> dict[str, Any]:
    config = {"configurable": {"thread_id": f"run-{run}"}, "recursion_limit": calls + 5}
    return {
        "input": {"done": 0, "calls": calls, "last": ""},
        "config": config,
        "durability": "sync",
    }


def _in_threads(path: Path, runs: int, calls: int) -> float:
    with SqliteSaver.from_conn_string(str(path)) as saver, ThreadPoolExecutor(runs) as pool:
        graph = _graph(note).compile(checkpointer=saver)
        graph.invoke(**_words(-1, 3))
        started = perf_counter()
        found = list(pool.map(lambda run: graph.invoke(**_words(run, calls)), range(runs)))
        seconds = perf_counter() - started
    assert [one["done"] for one in found] == [calls] * runs
    return seconds


async def _in_tasks(path: Path, runs: int, calls: int) -> float:
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        graph = _graph(note_async).compile(checkpointer=saver)
        await graph.ainvoke(**_words(-1, 3))
        started = perf_counter()
        found = await asyncio.gather(*(graph.ainvoke(**_words(run, calls)) for run in range(runs)))
        seconds = perf_counter() - started
    assert [one["done"] for one in found] == [calls] * runs
    return seconds


_SAYS: Final = (
    "two commits a call, both after the body (what the node wrote, then the checkpoint), with "
    'durability="sync", its most durable mode. Write-ahead log, synchronous FULL: two syncs a '
    "call as counted by strace. A node cut off by a crash runs again."
)
ENGINE: Final = Engine(
    ways=[
        Way(name="LangGraph, SqliteSaver", says=_SAYS, seconds=_in_threads),
        Way(
            name="LangGraph, AsyncSqliteSaver",
            says="the same.",
            seconds=lambda path, runs, calls: asyncio.run(_in_tasks(path, runs, calls)),
        ),
    ]
)
