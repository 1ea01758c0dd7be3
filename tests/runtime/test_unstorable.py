"""A result that no log can hold: the write happened, is said to have, and is never made again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salvor.clock import SystemClock
from salvor.errors import ToolFailed
from salvor.runtime.outcome import Completed
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.stores.sqlite import SqliteStore
from salvor.tools.decorator import tool
from salvor.values import MAX_OUTPUT_BYTES
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio

DONE: list[str] = []


def endless() -> Any:
    found: list[Any] = []
    found.append(found)
    return found


UNSTORABLE: dict[str, Callable[[], Any]] = {
    "half a surrogate pair": lambda: "a\udcaf",
    "a key of half a pair": lambda: {"\ud800": 1},
    "no number": lambda: {"mean": 1.5, "sd": float("nan")},
    "infinity": lambda: [float("-inf")],
    "a generator": lambda: (one for one in [1]),
    "a lock": threading.Lock,
    "an object inside": lambda: {"s": {1, 2}, "o": object()},
    "itself": endless,
    "too much": lambda: "x" * MAX_OUTPUT_BYTES,
}


@tool(effect="write")
def write(what: str):  # type: ignore[no-untyped-def]  # any JSON
    """Write, and return what cannot be kept."""
    DONE.append(what)
    return UNSTORABLE[what]()


@tool(effect="read")
def look(text: str) -> str:
    """Look."""
    return text


@workflow
async def writing(run: Run, what: str) -> list[str]:
    with pytest.raises(ToolFailed) as caught:
        await run.call(write, what)
    return [caught.value.kind, caught.value.extent, await run.call(look, "NUL \0 is text")]


@pytest.mark.parametrize("what", UNSTORABLE)
async def test_an_unstorable_result_is_one_execution_that_failed_after_its_effect(
    make_runtime: MakeRuntime, tmp_path: Path, what: str
) -> None:
    DONE.clear()
    path = tmp_path / "salvor.db"
    async with make_runtime(SqliteStore.open(path, clock=SystemClock())) as runtime:
        result = await runtime.run(writing, what)
    async with make_runtime(SqliteStore.open(path, clock=SystemClock())) as runtime:
        again = await runtime.resume(result.run_id, writing)

    assert isinstance(result, Completed)
    assert result.output == ["output_serialization", "yes", "NUL \0 is text"]
    assert again == result
    assert [what] == DONE
