"""A failure that cannot be read says nothing of what happened: a write is not made again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from salvor.errors import ToolFailure
from salvor.events.vocabulary import ToolCallCompleted
from salvor.runtime.outcome import Failed, OpenWrite, RunResult
from salvor.runtime.runtime import Runtime
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
from salvor.tools.parking import Slept, sleep_until, suspend

pytestmark = pytest.mark.anyio

BEYOND = datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))

done: list[str] = []


class Forgetful(ToolFailure):
    def __init__(self, code: int) -> None:
        self.code_of_the_bank = code


class Broken(ToolFailure):
    def __init__(self) -> None:
        super().__init__("broken", happened=False)

    @property
    def extent(self) -> Any:
        raise RuntimeError("no extent")


class Faceless(ValueError):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("no class")


@pytest.fixture(autouse=True)
def nothing_done() -> Iterator[None]:
    done.clear()
    yield


def raising(error: Exception) -> FunctionTool:
    @tool(effect="write", idempotency_key="what", retry=Retry(attempts=3, backoff=0.0))
    async def charge(what: str) -> str:
        """Charge."""
        done.append(what)
        raise error

    return function_tool(charge)


async def called(
    runtime: Runtime, subject: FunctionTool
) -> tuple[RunResult[Any], list[ToolCallCompleted], tuple[str, str | None]]:
    runtime.registry.merge([subject])
    result = await runtime.call_tool(subject, {"what": "a"})
    events = [envelope.event for envelope in (await runtime.history(result.run_id)).envelopes]
    (claim,) = await runtime.claims.list()
    completions = [event for event in events if isinstance(event, ToolCallCompleted)]
    return result, completions, (claim.state, claim.extent)


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (ToolFailure(OSError("connection lost")), "connection lost"),  # type: ignore[arg-type]
        (Forgetful(5), "Forgetful"),
        (Broken(), "Broken, which cannot be read: RuntimeError: no extent: broken"),
    ],
)
async def test_a1_what_says_nothing_leaves_a_write_open(
    runtime: Runtime, error: Exception, cause: str
) -> None:
    result, completions, claim = await called(runtime, raising(error))

    assert isinstance(result, OpenWrite)
    assert result.cause == cause
    assert (done, completions, claim) == (["a"], [], ("held", None))


async def test_a1_a_write_stays_open_whatever_an_exception_does_when_it_is_looked_at(
    runtime: Runtime,
) -> None:
    result, completions, claim = await called(runtime, raising(Faceless("x")))

    assert isinstance(result, OpenWrite)
    assert result.cause == "Faceless, which cannot be read: RuntimeError"
    assert (done, completions, claim) == (["a"], [], ("held", None))


async def test_a1_a_message_that_is_no_text_keeps_the_authors_word(runtime: Runtime) -> None:
    error = ToolFailure({"code": 5}, happened=True)  # type: ignore[arg-type]
    result, (completion,), claim = await called(runtime, raising(error))

    assert isinstance(result, Failed)
    assert "{'code': 5}" in result.error
    assert (done, completion.extent, claim) == (["a"], "yes", ("failed", "yes"))


@pytest.mark.parametrize("said", ["0", "soon", -1, float("nan"), float("inf"), object(), False])
async def test_a5_whatever_is_said_of_waiting_the_call_is_tried_again(
    runtime: Runtime, said: Any
) -> None:
    error = ToolFailure("not now", happened=False, retry_after=said)
    result, completions, claim = await called(runtime, raising(error))

    assert isinstance(result, Failed)
    assert (done, claim) == (["a", "a", "a"], ("released", None))
    assert [one.extent for one in completions] == ["no", "no", "no"]


async def test_a2_a_park_that_no_log_can_hold_happened_all_the_same(runtime: Runtime) -> None:
    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
            raise RuntimeError("odd")

    @tool(effect="write", idempotency_key="what", retry=Retry(attempts=3, backoff=0.0))
    async def book(what: str) -> Slept:
        """Book."""
        done.append(what)
        return sleep_until(BEYOND) if what == "a" else suspend("?", Odd)  # type: ignore[return-value]

    subject = function_tool(book)
    result, (completion,), claim = await called(runtime, subject)

    assert isinstance(result, Failed)
    assert "no instant between the years 1 and 9999" in result.error
    assert (done, completion.extent, claim) == (["a"], "yes", ("failed", "yes"))

    again = await runtime.call_tool(subject, {"what": "b"})
    assert isinstance(again, Failed)
    assert "odd" in again.error
    assert done == ["a", "b"]
