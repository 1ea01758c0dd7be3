"""How bodies run: limits, inline, progress, what they share, and what never gets out."""

import logging
import threading
from collections.abc import AsyncIterator
from contextvars import ContextVar

import anyio
import pytest
from pydantic import SecretStr

from salvor.runtime.bodies import BodyThreads
from salvor.runtime.host import Progress
from salvor.runtime.outcome import Completed, Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.injection import Depends

pytestmark = pytest.mark.anyio

COLOUR: ContextVar[str] = ContextVar("COLOUR", default="none")


async def test_so_many_bodies_run_at_a_time_and_the_others_wait_for_their_turn() -> None:
    threads = BodyThreads(2)
    running, most = 0, 0
    lock, full = threading.Lock(), threading.Barrier(2)

    def body() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait(60)
        with lock:
            running -= 1

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(threads.run, body)

    assert most == 2


async def test_a_body_whose_turn_has_not_come_is_not_started_after_a_cancellation() -> None:
    threads = BodyThreads(1)
    opened, started = threading.Event(), []
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, lambda: opened.wait(60))
        await anyio.wait_all_tasks_blocked()
        with anyio.move_on_after(0.01):
            await threads.run(lambda: started.append("second"))
        opened.set()

    assert await threads.run(lambda: "third") == "third"
    assert started == []


async def test_a_body_that_is_given_up_leaves_its_turn_to_another() -> None:
    threads = BodyThreads(1)
    opened = threading.Event()
    with anyio.move_on_after(0.01):
        await threads.run(lambda: opened.wait(60))

    assert await threads.run(lambda: "went on") == "went on"
    opened.set()
    assert await threads.run(lambda: "and on") == "and on"


async def test_a_body_that_raises_gives_its_turn_back_once() -> None:
    threads = BodyThreads(1)

    def failing() -> None:
        raise ValueError("no")

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            await threads.run(failing)
    opened, started = threading.Event(), []
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, lambda: opened.wait(60))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(threads.run, lambda: started.append("second"))
        await anyio.wait_all_tasks_blocked()
        assert threads.queued == 1
        opened.set()

    assert started == ["second"]


async def test_synchronous_tools_run_at_the_same_time_and_leave_the_loop_free(
    runtime: Runtime,
) -> None:
    inside, opened = set[int](), threading.Event()

    @tool(effect="read")
    def block(number: int) -> bool:
        """Wait until the loop has seen all of them inside."""
        inside.add(number)
        return opened.wait(60)

    @workflow
    async def flow(run: Run, number: int) -> bool:
        return await run.call(block, number)

    results: list[object] = []

    async def drive(number: int) -> None:
        results.append(await runtime.run(flow, number))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(drive, number)
            while len(inside) < 3:
                await anyio.sleep(0.001)
            opened.set()

    assert [isinstance(one, Completed) and one.output for one in results] == [True] * 3


async def test_an_inline_tool_runs_on_the_loops_own_thread(runtime: Runtime) -> None:
    @tool(effect="read", inline=True)
    def here() -> int:
        """Here."""
        return threading.get_ident()

    @tool(effect="read")
    def there() -> int:
        """There."""
        return threading.get_ident()

    @workflow
    async def flow(run: Run) -> list[int]:
        return [await run.call(here), await run.call(there)]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output[0] == threading.get_ident()
    assert result.output[1] != threading.get_ident()


@pytest.mark.parametrize("kind", ["in a thread", "async", "inline", "async with a dependency"])
async def test_context_variables_go_into_a_tool_and_do_not_come_out(
    runtime: Runtime, kind: str
) -> None:
    async def lighter() -> AsyncIterator[str]:
        token = COLOUR.set(f"light {COLOUR.get()}")
        yield COLOUR.get()
        COLOUR.reset(token)

    def paint() -> str:
        """Paint."""
        seen = COLOUR.get()
        COLOUR.set("of a tool")
        return seen

    async def paint_async() -> str:
        """Paint."""
        await anyio.sleep(0)
        return paint()

    async def paint_lighter(_: str = Depends(lighter)) -> str:
        """Paint."""
        return COLOUR.get()

    body = {"async": paint_async, "async with a dependency": paint_lighter}.get(kind, paint)
    painted = tool(effect="read", inline=kind == "inline")(body)

    @workflow
    async def flow(run: Run) -> list[str]:
        return [await run.call(painted), await run.call(painted), COLOUR.get()]

    async def in_colour(colour: str) -> None:
        COLOUR.set(colour)
        result = await runtime.run(flow)
        seen = f"light {colour}" if "dependency" in kind else colour
        assert isinstance(result, Completed)
        assert result.output == [seen, seen, colour]

    async with anyio.create_task_group() as group:
        for colour in ("red", "green", "blue"):
            group.start_soon(in_colour, colour)


async def test_progress_reaches_whoever_asked_for_it() -> None:
    told: list[Progress] = []
    clock = FakeClock()
    from salvor.registry.registry import Registry

    runtime = Runtime(
        store=MemoryStore(clock=clock),
        registry=Registry(),
        clock=clock,
        ids=FakeIds(),
        progress=told.append,
    )

    @tool(effect="read")
    def work(ctx: Context) -> str:
        """Work."""
        ctx.progress(1, 2, "half")
        return "x"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(work)

    async with runtime:
        result = await runtime.run(flow)

    assert [(p.run_id, p.tool, p.done, p.total, p.message) for p in told] == [
        (result.run_id, "work", 1, 2, "half")
    ]


async def test_a_shared_dependency_is_opened_once_and_closed_with_the_runtime(
    runtime: Runtime,
) -> None:
    seen: list[str] = []

    async def pool() -> AsyncIterator[str]:
        seen.append("open")
        yield "pool"
        seen.append("close")

    @tool(effect="read")
    async def look(db: str = Depends(pool, scope="runtime")) -> str:
        """Look."""
        seen.append(db)
        return db

    @workflow
    async def flow(run: Run) -> str:
        await run.call(look)
        return await run.call(look)

    async with runtime:
        await runtime.run(flow)
        await runtime.run(flow)
        assert seen == ["open", *["pool"] * 4]

    assert seen[-1] == "close"
    assert len(seen) == 6


async def test_a_shared_dependency_that_fails_is_tried_again_by_the_next_call(
    runtime: Runtime,
) -> None:
    tries: list[int] = []

    async def pool() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("not yet")
        return "pool"

    @tool(effect="write", retry=Retry(attempts=2, backoff=0.0))
    async def write(db: str = Depends(pool, scope="runtime")) -> str:
        """Write."""
        return db

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(write)

    async with runtime:
        result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert len(tries) == 2


async def test_shared_dependencies_are_closed_in_reverse(runtime: Runtime) -> None:
    closed: list[str] = []

    async def first() -> AsyncIterator[str]:
        yield "first"
        closed.append("first")

    async def second() -> AsyncIterator[str]:
        yield "second"
        closed.append("second")

    @tool(effect="read")
    async def look(
        a: str = Depends(first, scope="runtime"), b: str = Depends(second, scope="runtime")
    ) -> str:
        """Look."""
        return a + b

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(look)

    async with runtime:
        await runtime.run(flow)

    assert closed == ["second", "first"]


CANARY = "canary-f3a1c9"


@pytest.mark.parametrize("trouble", ["raise", "output", "arguments", "closing"])
async def test_a_secret_that_comes_by_dependency_is_in_no_log_and_no_message(
    runtime: Runtime, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def token() -> AsyncIterator[SecretStr]:
        yield SecretStr(CANARY)
        if trouble == "closing":
            raise OSError("lost")

    @tool(effect="read", retry=Retry(attempts=1))
    async def look(n: int, secret: SecretStr = Depends(token)) -> int:
        """Look."""
        if trouble == "raise":
            raise ValueError(f"with {secret}")
        return secret if trouble == "output" else n  # type: ignore[return-value]

    @workflow
    async def flow(run: Run) -> int:
        arguments = {"n": 1, "secret": CANARY[:3]} if trouble == "arguments" else {"n": 1}
        return int(await run.call_named("look", arguments))  # type: ignore[arg-type]

    runtime.registry.add(look)
    with caplog.at_level(logging.DEBUG):
        result = await runtime.run(flow)

    assert isinstance(result, Failed)
    page = await runtime.store.read(result.run_id)
    assert CANARY not in "".join(row.envelope for row in page.rows)
    assert CANARY not in caplog.text
    assert CANARY not in result.error
