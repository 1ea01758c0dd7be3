import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from salvor.errors import ToolFailed
from salvor.events.claims import ClaimId
from salvor.events.vocabulary import ToolCallCompleted
from salvor.run_errors import RunError
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Fenced
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.injection import Depends
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio

SOON = 0.02
NO_WAIT = Retry(attempts=3, backoff=0.0)


class Gate:
    """A synchronous body waits behind it; the test says when it opens."""

    def __init__(self) -> None:
        self.entered = 0
        self.opened = threading.Event()
        self.left = threading.Event()
        self.saw_cancelled: list[bool] = []

    def pass_through(self, ctx: Context) -> str:
        self.entered += 1
        self.opened.wait(60)
        self.saw_cancelled.append(ctx.cancelled)
        self.left.set()
        return "through"


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.opened.set()


async def _until(condition: Any) -> None:
    with anyio.fail_after(60):
        while not await condition():
            await anyio.sleep(0.001)


async def _completion(runtime: Runtime, run_id: str) -> ToolCallCompleted:
    event = (await runtime.history(run_id)).envelopes[2].event
    assert isinstance(event, ToolCallCompleted)
    return event


async def test_a6_an_async_body_is_cancelled_and_a_read_tried_again(runtime: Runtime) -> None:
    ended: list[str] = []

    @tool(effect="read", timeout=SOON, retry=NO_WAIT)
    async def hang() -> str:
        """Hang."""
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("cancelled")
        return "never"

    @workflow
    async def flow(run: Run) -> list[str]:
        with pytest.raises(ToolFailed) as caught:
            await run.call(hang)
        return [caught.value.kind, caught.value.extent, caught.value.reason]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["timeout", "no", "timed out after 0.02 s"]
    assert ended == ["cancelled"] * 3


async def test_a6_an_async_write_that_is_cut_off_stays_open(runtime: Runtime) -> None:
    @tool(effect="write", timeout=SOON)
    async def hang() -> str:
        """Hang."""
        await anyio.sleep_forever()
        return "never"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(hang)

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert result.cause == "timed out after 0.02 s"


async def test_a_timeout_that_the_tool_raises_itself_is_not_ours(runtime: Runtime) -> None:
    @tool(effect="read", timeout=60, retry=Retry(attempts=1))
    async def slow() -> str:
        """Slow."""
        raise TimeoutError("upstream")

    @workflow
    async def flow(run: Run) -> list[str]:
        with pytest.raises(ToolFailed) as caught:
            await run.call(slow)
        return [caught.value.kind, caught.value.reason]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["handler", "TimeoutError: upstream"]


async def test_a6_a_sync_read_fails_without_a_retry_and_its_value_is_kept_as_late(
    runtime: Runtime, gate: Gate
) -> None:
    @tool(effect="read", timeout=SOON, retry=NO_WAIT)
    def slow(ctx: Context) -> str:
        """Slow."""
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed) as caught:
            await run.call(slow)
        return caught.value.extent

    async with runtime:
        result = await runtime.run(flow)
        assert isinstance(result, Completed)
        assert result.output == "no"
        assert gate.entered == 1

        gate.opened.set()

        async def kept() -> bool:
            return bool((await runtime.history(result.run_id)).late)

        await _until(kept)
        late = (await runtime.history(result.run_id)).late
        assert [(entry.outcome, entry.value) for entry in late] == [("output", '"through"')]
        assert gate.saw_cancelled == [True]


async def test_a6_a_sync_write_holds_its_lease_until_its_body_has_ended(
    runtime: Runtime, gate: Gate
) -> None:
    @tool(effect="write", timeout=SOON)
    def slow(ctx: Context) -> str:
        """Slow."""
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow)

    async with runtime:
        opened = await runtime.run(flow)
        assert isinstance(opened, OpenWrite)
        assert "still running in process" in opened.cause
        assert (await runtime.store.head(opened.run_id)).lease is not None
        with pytest.raises(RunError, match="is being driven"):
            await runtime.resolve(opened.run_id, NotDone(worker_dead=True))

        gate.opened.set()

        async def released() -> bool:
            return (await runtime.store.head(opened.run_id)).lease is None

        await _until(released)
        assert (await _completion(runtime, opened.run_id)).output == "through"
        result = await runtime.resume(opened.run_id, flow)

    assert isinstance(result, Completed)
    assert result.output == "through"
    assert gate.entered == 1


async def test_a6_a_late_failure_of_a_write_counts_only_if_it_is_certain(
    runtime: Runtime, gate: Gate
) -> None:
    from salvor.errors import ToolFailure

    @tool(effect="write", timeout=SOON)
    def slow(ctx: Context, happened: bool | None = None) -> str:
        """Slow."""
        gate.pass_through(ctx)
        raise ToolFailure("declined", happened=happened)

    @workflow
    async def flow(run: Run, happened: bool | None = None) -> str:
        return await run.call(slow, happened=happened)

    async with runtime:
        runs = [await runtime.run(flow, happened=what) for what in (None, False)]
        gate.opened.set()

        async def released() -> bool:
            heads = [await runtime.store.head(run.run_id) for run in runs]
            return all(head.lease is None for head in heads)

        await _until(released)
        unknown, never = [await runtime.resume(run.run_id, flow) for run in runs]

    assert isinstance(unknown, OpenWrite)
    assert isinstance(never, Failed)


async def test_a6_no_second_copy_of_a_key_starts_while_the_first_still_runs(
    make_runtime: MakeRuntime, gate: Gate
) -> None:
    runtime = make_runtime(claim_wait=0.0)

    @tool(effect="idempotent", idempotency_key="n", timeout=SOON, retry=NO_WAIT)
    def slow(ctx: Context, n: int) -> str:
        """Slow."""
        assert gate.entered == 0 or gate.opened.is_set()
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow, n=1)

    async with runtime:
        assert isinstance(await runtime.run(flow), Failed)
        waiting = await runtime.run(flow)
        assert isinstance(waiting, Parked)
        assert gate.entered == 1

        gate.opened.set()

        async def ended() -> bool:
            key = ClaimId(namespace="default", scope="native/slow", key='{"n":1}')
            return not runtime._host.overtime.runs("", -1, key)

        await _until(ended)
        assert isinstance(await runtime.resume(waiting.run_id, flow), Completed)

    assert gate.entered == 2


async def test_a6_a_body_taken_over_in_its_overtime_keeps_its_value_as_late(
    make_runtime: MakeRuntime, gate: Gate
) -> None:
    runtime = make_runtime()

    @tool(effect="write", timeout=SOON)
    def slow(ctx: Context) -> str:
        """Slow."""
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow)

    async with runtime:
        opened = await runtime.run(flow)
        fence = next(iter(runtime._host.overtime._fences))
        await runtime.store.release(fence)
        other = make_runtime(runtime.store)
        assert isinstance(await other.resume(opened.run_id, flow), OpenWrite)
        gate.opened.set()

        async def kept() -> bool:
            return bool((await runtime.history(opened.run_id)).late)

        await _until(kept)
        with pytest.raises(Fenced):
            await runtime.store.confirm(fence)


async def test_a_dependency_is_closed_only_when_the_body_that_uses_it_has_ended(
    runtime: Runtime, gate: Gate
) -> None:
    closed: list[bool] = []

    def resource() -> Iterator[str]:
        yield "open"
        closed.append(gate.left.is_set())

    @tool(effect="write", timeout=SOON)
    def slow(ctx: Context, db: str = Depends(resource)) -> str:
        """Slow."""
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow)

    async with runtime:
        await runtime.run(flow)
        assert closed == []
        gate.opened.set()

        async def ended() -> bool:
            return bool(closed)

        await _until(ended)

    assert closed == [True]


async def test_a_runtime_that_was_not_entered_says_so(runtime: Runtime, gate: Gate) -> None:
    @tool(effect="write", timeout=SOON)
    def slow(ctx: Context) -> str:
        """Slow."""
        return gate.pass_through(ctx)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow)

    with pytest.raises(RunError, match="async with"):
        await runtime.run(flow)


async def test_the_deadline_is_in_the_context(runtime: Runtime) -> None:
    seen: list[Any] = []

    @tool(effect="read", timeout=3600)
    async def look(ctx: Context) -> str:
        """Look."""
        seen.append(ctx.deadline)
        return "x"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(look)

    await runtime.run(flow)

    assert seen[0] is not None
    assert seen[0].utcoffset() is not None
