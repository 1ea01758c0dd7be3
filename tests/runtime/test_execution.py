from collections.abc import AsyncIterator, Iterator

import pytest

from salvor.errors import ToolFailed, ToolFailure
from salvor.runtime.outcome import Completed, Failed, OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.injection import Depends

pytestmark = pytest.mark.anyio

SEEN: list[str] = []


@pytest.fixture(autouse=True)
def seen() -> Iterator[list[str]]:
    SEEN.clear()
    yield SEEN


def plain() -> str:
    return "plain"


async def async_plain() -> str:
    return "async"


def managed() -> Iterator[str]:
    SEEN.append("open")
    try:
        yield "managed"
    except ValueError:
        SEEN.append("rolled back")
        raise
    SEEN.append("close")


async def async_managed() -> AsyncIterator[str]:
    SEEN.append("async open")
    yield "async managed"
    SEEN.append("async close")


@tool(effect="read")
def gather_all(
    a: str = Depends(plain),
    b: str = Depends(async_plain),
    c: str = Depends(managed),
    d: str = Depends(async_managed),
) -> list[str]:
    """Gather what was opened."""
    SEEN.append("body")
    return [a, b, c, d]


@workflow
async def gathering(run: Run) -> list[str]:
    return await run.call(gather_all)


async def test_dependencies_are_opened_for_the_call_and_closed_in_reverse(
    runtime: Runtime, seen: list[str]
) -> None:
    result = await runtime.run(gathering)

    assert isinstance(result, Completed)
    assert result.output == ["plain", "async", "managed", "async managed"]
    assert seen == ["open", "async open", "body", "async close", "close"]


async def test_a_dependency_is_closed_before_the_completion_is_recorded(
    runtime: Runtime,
) -> None:
    lengths: list[int] = []

    async def watching() -> AsyncIterator[str]:
        yield "x"
        lengths.append(len((await runtime.history(run_id)).envelopes))

    @tool(effect="write")
    async def write(x: str = Depends(watching)) -> str:
        """Write."""
        return x

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    run_id = runtime.new_run_id()
    await runtime.start(flow, run_id=run_id)

    assert lengths == [2]


async def test_a_body_that_raises_is_seen_by_its_dependencies(
    runtime: Runtime, seen: list[str]
) -> None:
    @tool(effect="write")
    async def write(x: str = Depends(managed)) -> str:
        """Write."""
        raise ValueError("no")

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert seen == ["open", "rolled back"]


async def test_a_dependency_that_cannot_be_opened_means_nothing_happened(
    runtime: Runtime, seen: list[str]
) -> None:
    def broken() -> str:
        SEEN.append("tried")
        raise ConnectionError("no database")

    @tool(effect="write", retry=Retry(attempts=2, backoff=0.0))
    async def write(x: str = Depends(broken)) -> str:
        """Write."""
        SEEN.append("body")
        return x

    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="no database") as caught:
            await run.call(write)
        return caught.value.extent

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "no"
    assert seen == ["tried", "tried"]


async def test_clean_up_that_fails_leaves_a_write_open_and_keeps_what_it_returned(
    runtime: Runtime,
) -> None:
    async def committing() -> AsyncIterator[str]:
        yield "receipt-77"
        raise ConnectionError("lost at commit")

    # Even an error that, raised by the body, would say that nothing happened.
    @tool(effect="write", refusals=(ConnectionError,))
    async def write(x: str = Depends(committing)) -> str:
        """Write."""
        return x

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert "lost at commit" in result.cause
    late = (await runtime.history(result.run_id)).late
    assert [(entry.outcome, entry.value) for entry in late] == [("output", '"receipt-77"')]


async def test_an_error_of_clean_up_cannot_make_a_body_look_as_if_it_had_done_less(
    runtime: Runtime, seen: list[str]
) -> None:
    async def rolling_back() -> AsyncIterator[str]:
        try:
            yield "db"
        except ConnectionResetError:
            raise ValueError("already closed") from None

    @tool(effect="write", idempotency_key="n", refusals=(ValueError,))
    async def write(n: int, x: str = Depends(rolling_back)) -> str:
        """Write."""
        SEEN.append("paid")
        raise ConnectionResetError("after it was paid")

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write, 1)

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert "after it was paid" in result.cause
    assert "already closed" in result.cause


@pytest.mark.parametrize(("happened", "kind"), [(None, OpenWrite), (False, Failed)])
async def test_a_dependency_that_swallows_the_bodys_error_changes_nothing(
    runtime: Runtime, happened: bool | None, kind: type
) -> None:
    def swallowing() -> Iterator[str]:
        try:
            yield "db"
        except ToolFailure:
            pass

    @tool(effect="write")
    async def write(x: str = Depends(swallowing)) -> str:
        """Write."""
        raise ToolFailure("declined", happened=happened, final=True)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    result = await runtime.run(flow)

    assert isinstance(result, kind)
    assert "declined" in str(result)


async def test_a2_an_output_that_breaks_its_encoder_happened_all_the_same(
    runtime: Runtime,
) -> None:
    @tool(effect="write")
    async def deep() -> list[object]:
        """Nest."""
        nested: list[object] = []
        for _ in range(5000):
            nested = [nested]
        return nested

    @workflow
    async def flow(run: Run) -> list[str]:
        with pytest.raises(ToolFailed) as caught:
            await run.call(deep)
        return [caught.value.kind, caught.value.extent]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["output_serialization", "yes"]


async def test_a4_an_answer_may_be_a_tool_failure_too(runtime: Runtime) -> None:
    @tool(effect="write", exceptions="failed")
    async def write() -> str:
        """Write."""
        raise ToolFailure("declined")

    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed) as caught:
            await run.call(write)
        return caught.value.extent

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "unknown"


@pytest.mark.parametrize("after", [float("nan"), float("inf")])
async def test_a5_a_pause_that_is_no_number_of_seconds_is_left_to_the_backoff(
    runtime: Runtime, after: float, seen: list[str]
) -> None:
    @tool(effect="write", retry=Retry(attempts=2, backoff=0.0))
    async def write() -> str:
        """Write."""
        SEEN.append("tried")
        raise ToolFailure("no", happened=False, retry_after=after)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert seen == ["tried", "tried"]


async def test_a_body_is_told_about_its_call(runtime: Runtime) -> None:
    @tool(effect="write", idempotency_key="n")
    def told(ctx: Context, n: int) -> list[str]:
        """Tell."""
        assert Context.current() is ctx
        return [ctx.run_id, str(ctx.position), str(ctx.attempt), str(ctx.idempotency_key)]

    @workflow
    async def flow(run: Run) -> list[str]:
        return await run.call(told, n=3)

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == [result.run_id, "1", "1", '{"n":3}']


async def test_a_sync_function_may_return_something_to_await(runtime: Runtime) -> None:
    async def inner() -> str:
        return "awaited"

    @tool(effect="read")
    def outer() -> str:
        """Outer."""
        return inner()  # type: ignore[return-value]

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(outer)

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "awaited"
