from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from salvor.handoff import Handoff, deliver


def from_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.anyio
async def test_a_result_crosses_from_a_thread() -> None:
    handoff: Handoff[str] = Handoff(cancellable=False)
    threading.Thread(target=lambda: deliver([(handoff, "done", None)])).start()
    assert await handoff.wait() == "done"


@pytest.mark.anyio
async def test_a_result_may_be_there_before_anybody_waits() -> None:
    handoff: Handoff[str] = Handoff(cancellable=True)
    from_thread(lambda: deliver([(handoff, "done", None)]))
    assert await handoff.wait() == "done"


@pytest.mark.anyio
async def test_an_error_is_raised_where_the_result_is_awaited() -> None:
    handoff: Handoff[str] = Handoff(cancellable=False)
    from_thread(lambda: deliver([(handoff, None, KeyError("k"))]))
    with pytest.raises(KeyError, match="k"):
        await handoff.wait()


@pytest.mark.anyio
async def test_many_results_cross_at_once_each_to_its_own_task() -> None:
    handoffs: list[Handoff[int]] = [Handoff(cancellable=False) for _ in range(100)]
    seen: dict[int, int] = {}

    async def wait(number: int) -> None:
        seen[number] = await handoffs[number].wait()

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(wait, number)
        await anyio.wait_all_tasks_blocked()
        from_thread(lambda: deliver([(h, n * n, None) for n, h in enumerate(handoffs)]))
    assert seen == {number: number * number for number in range(100)}


@pytest.mark.anyio
async def test_only_the_first_result_counts() -> None:
    handoff: Handoff[int] = Handoff(cancellable=False)
    from_thread(lambda: deliver([(handoff, 1, None), (handoff, 2, None)]))
    assert await handoff.wait() == 1


@pytest.mark.anyio
async def test_an_uncancellable_wait_ends_with_its_result_and_then_with_the_cancellation() -> None:
    handoff: Handoff[str] = Handoff(cancellable=False)
    scope = anyio.CancelScope()
    seen: list[str] = []

    async def wait() -> None:
        with scope:
            try:
                await handoff.wait()
                await anyio.lowlevel.checkpoint()
                seen.append("not cancelled")
            finally:
                seen.append("ended")

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert seen == []
        from_thread(lambda: deliver([(handoff, "done", None)]))
    assert seen == ["ended"]


@pytest.mark.anyio
async def test_a_cancellable_wait_ends_at_once_and_its_result_is_dropped() -> None:
    handoff: Handoff[str] = Handoff(cancellable=True)
    async with anyio.create_task_group() as group:
        group.start_soon(handoff.wait)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    from_thread(lambda: deliver([(handoff, "late", None)]))
    await anyio.lowlevel.checkpoint()


@pytest.mark.anyio
async def test_an_error_that_nobody_fetches_makes_no_noise() -> None:
    for _ in range(3):
        from_thread(partial(deliver, [(Handoff(cancellable=True), None, KeyError("k"))]))
        await anyio.lowlevel.checkpoint()
    gc.collect()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_has_ended_stops_no_other(backend: str) -> None:
    async def make() -> Handoff[Any]:
        return Handoff(cancellable=False)

    ended = anyio.run(make, backend=backend)

    async def use() -> str:
        handoff: Handoff[str] = Handoff(cancellable=False)
        from_thread(lambda: deliver([(ended, "lost", None), (handoff, "found", None)]))
        return await handoff.wait()

    assert anyio.run(use) == "found"


def test_a_batch_reaches_every_loop_it_belongs_to() -> None:
    handoffs: dict[str, Handoff[str]] = {}
    ready = threading.Barrier(3)
    got: dict[str, str] = {}

    async def use(backend: str) -> None:
        handoffs[backend] = Handoff(cancellable=False)
        await anyio.to_thread.run_sync(ready.wait)
        got[backend] = await handoffs[backend].wait()

    threads = [
        threading.Thread(target=anyio.run, args=(use, backend), kwargs={"backend": backend})
        for backend in ("asyncio", "trio")
    ]
    for thread in threads:
        thread.start()
    ready.wait()
    deliver([(handoff, backend, None) for backend, handoff in handoffs.items()])
    for thread in threads:
        thread.join()
    assert got == {"asyncio": "asyncio", "trio": "trio"}


@pytest.mark.anyio
async def test_a_result_in_the_tick_of_a_cancellation_wakes_the_task_once() -> None:
    made: list[Handoff[int]] = []

    async def waiting() -> None:
        made.append(Handoff(cancellable=True))
        await made[0].wait()

    async with anyio.create_task_group() as group:
        group.start_soon(waiting)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        made[0]._settle(1, None)
