"""The built-in table judges the exception that left a body, not what the body did before."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

import pytest

from salvor.clock import SystemClock
from salvor.runtime.outcome import Failed, OpenWrite, RunResult
from salvor.runtime.runtime import Runtime
from salvor.tools.contract import Effect, Retry
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
from tests.runtime.conftest import MakeRuntime, MakeStore

pytestmark = pytest.mark.anyio

sent: list[str] = []


@pytest.fixture(autouse=True)
def nothing_sent() -> Iterator[None]:
    sent.clear()
    yield


@pytest.fixture
async def runtime(make_runtime: MakeRuntime, make_store: MakeStore) -> AsyncIterator[Runtime]:
    async with make_runtime(make_store(SystemClock())) as made:
        yield made


def ordering(
    exceptions: Literal["failed", "unknown"] | None = None,
    refusals: tuple[type[Exception], ...] = (),
    effect: Effect = "write",
) -> FunctionTool:
    @tool(
        effect=effect,
        idempotency_key="order",
        retry=Retry(attempts=3, backoff=0.0),
        exceptions=exceptions,
        refusals=refusals,
    )
    async def place(order: str) -> str:
        """Charge, then book: two requests."""
        sent.append("charge")
        raise ConnectionRefusedError("nobody books")

    return function_tool(place)


def falling_back(exceptions: Literal["failed", "unknown"] | None = None) -> FunctionTool:
    @tool(effect="write", idempotency_key="order", exceptions=exceptions)
    async def place(order: str) -> str:
        """Charge here or else there."""
        try:
            sent.append("charge")
            raise TimeoutError("no answer")
        except TimeoutError:
            raise ConnectionRefusedError("nobody there")  # noqa: B904

    return function_tool(place)


async def called(
    runtime: Runtime, subject: FunctionTool
) -> tuple[RunResult[Any], list[tuple[str, str | None]]]:
    runtime.registry.merge([subject])
    result = await runtime.call_tool(subject, {"order": "A-1"})
    return result, [(one.state, one.extent) for one in await runtime.claims.list()]


async def test_a2_the_table_judges_the_last_exception_only_and_a_write_of_two_requests_sends_again(
    runtime: Runtime,
) -> None:
    result, claims = await called(runtime, ordering())

    assert isinstance(result, Failed)
    assert (sent, claims) == (["charge"] * 3, [("released", None)])


async def test_a2_a_write_whose_author_leaves_the_table_out_waits_for_a_person(
    runtime: Runtime,
) -> None:
    result, claims = await called(runtime, ordering("unknown"))

    assert isinstance(result, OpenWrite)
    assert (sent, claims) == (["charge"], [("held", None)])


async def test_a2_refusals_stay_the_authors_word_without_the_table(runtime: Runtime) -> None:
    result, claims = await called(runtime, ordering("unknown", (ConnectionRefusedError,)))

    assert isinstance(result, Failed)
    assert (sent, claims) == (["charge"], [("released", None)])


async def test_a3_without_the_table_an_idempotent_call_is_tried_again_all_the_same(
    runtime: Runtime,
) -> None:
    result, claims = await called(runtime, ordering("unknown", effect="idempotent"))

    assert isinstance(result, Failed)
    assert (sent, claims) == (["charge"] * 3, [("failed", "unknown")])


async def test_a1_a_write_that_was_refused_after_another_request_failed_is_not_made_again(
    runtime: Runtime,
) -> None:
    result, claims = await called(runtime, falling_back())

    assert isinstance(result, OpenWrite)
    assert (sent, claims) == (["charge"], [("held", None)])


async def test_a4_the_same_is_an_answer_where_the_author_says_so(runtime: Runtime) -> None:
    result, claims = await called(runtime, falling_back("failed"))

    assert isinstance(result, Failed)
    assert (sent, claims) == (["charge"], [("failed", "unknown")])
