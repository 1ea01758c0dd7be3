"""A call that failed says in one word, for programs, why; the reference has all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.clock import SystemClock
from salvor.errors import ToolFailed
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeIds
from salvor.tools.around import Call, Guard, Next, Output
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool

pytestmark = pytest.mark.anyio

ONCE = Retry(attempts=1)
PAGE = (Path(__file__).parents[2] / "docs/reference/calls.md").read_text()


@tool(effect="read", retry=ONCE, timeout=0.02)
async def hang() -> None:
    """Hang."""
    await anyio.sleep_forever()


@tool(effect="read", retry=ONCE, timeout=60)
async def late_upstream() -> None:
    """Be told by somebody else that it took too long."""
    raise TimeoutError("upstream")


@tool(effect="write", refusals=(PermissionError,))
def forbidden() -> None:
    """Be refused."""
    raise PermissionError("not here")


@tool(effect="write")
def mistyped() -> int:
    """Return something else."""
    return "five"  # type: ignore[return-value]


@tool(effect="idempotent", idempotency_key="key")
def keyed(key: str, value: int) -> int:
    """Have a key."""
    return value


@tool(effect="write")
def guarded() -> None:
    """Be guarded."""


async def guard(call: Call, next: Next) -> Any:
    if call.tool == "guarded":
        raise PermissionError("not you")
    return await next()


async def usurper(call: Call, next: Next) -> Any:
    return Output(5) if call.tool == "mistyped" else await next()


FAILURES: list[tuple[str, dict[str, Any], str]] = [
    ("hang", {}, "timeout"),
    ("late_upstream", {}, "handler"),
    ("forbidden", {}, "handler"),
    ("mistyped", {}, "output_serialization"),
    ("keyed", {"key": "a", "value": 2}, "claim"),
    ("keyed", {"key": "a"}, "invalid_input"),
    ("keyd", {}, "unknown_tool"),
    ("guarded", {}, "denied"),
]


def made(*guards: Any) -> Runtime:
    clock = SystemClock()
    registry = Registry()
    for each in (hang, late_upstream, forbidden, mistyped, keyed, guarded):
        registry.add(each)
    return Runtime(
        store=MemoryStore(clock=clock),
        registry=registry,
        clock=clock,
        ids=FakeIds(0),
        guards=[Guard(f"guard{n}", each) for n, each in enumerate(guards)],
    )


@workflow
async def failing(run: Run, name: str, arguments: dict[str, Any]) -> str:
    await run.call(keyed, "a", 1)
    with pytest.raises(ToolFailed) as caught:
        await run.call_named(name, arguments)
    return caught.value.kind


@pytest.mark.parametrize(("name", "arguments", "kind"), FAILURES)
async def test_a_failure_says_its_kind_live_and_on_replay(
    name: str, arguments: dict[str, Any], kind: str
) -> None:
    async with made(guard) as runtime:
        result = await runtime.run(failing, name, arguments)
        again = await runtime.resume(result.run_id, failing)

    assert isinstance(result, Completed)
    assert result.output == kind
    assert again == result


async def test_middleware_that_answers_in_place_of_a_write_denies_it() -> None:
    async with made(usurper) as runtime:
        result = await runtime.run(failing, "mistyped", {})

    assert isinstance(result, Completed)
    assert result.output == "denied"


def test_the_reference_has_every_kind() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| (?!no)", PAGE, re.MULTILINE)) >= {
        kind for _, _, kind in FAILURES
    }
