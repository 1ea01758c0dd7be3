import subprocess
import sys
import threading
from contextvars import ContextVar

import anyio
import pytest

from salvor.runtime.bodies import BodyThreads

pytestmark = pytest.mark.anyio

COLOUR: ContextVar[str] = ContextVar("COLOUR", default="none")


@pytest.fixture
def threads() -> BodyThreads:
    return BodyThreads()


async def test_a_body_runs_in_a_daemon_thread_and_its_value_comes_back(
    threads: BodyThreads,
) -> None:
    thread = await threads.run(threading.current_thread)

    assert thread.daemon
    assert thread is not threading.current_thread()


async def test_a_thread_is_used_again(threads: BodyThreads) -> None:
    first = await threads.run(threading.current_thread)
    second = await threads.run(threading.current_thread)

    assert first is second


async def test_context_variables_go_in_and_do_not_come_out(threads: BodyThreads) -> None:
    COLOUR.set("red")

    def body() -> str:
        seen = COLOUR.get()
        COLOUR.set("blue")
        return seen

    assert await threads.run(body) == "red"
    assert COLOUR.get() == "red"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
async def test_a_body_may_run_an_event_loop_of_its_own(threads: BodyThreads, backend: str) -> None:
    async def inner() -> str:
        await anyio.sleep(0)
        return "through"

    assert await threads.run(lambda: anyio.run(inner, backend=backend)) == "through"
    await anyio.sleep(0)  # which has to know its own loop still


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(3), SystemExit(4)])
async def test_whatever_a_body_raises_reaches_the_caller(
    threads: BodyThreads, error: BaseException
) -> None:
    def body() -> None:
        raise error

    try:
        await threads.run(body)
    except BaseException as raised:
        # a coroutine cannot let StopIteration out as such
        assert error in (raised, raised.__cause__)
    else:
        pytest.fail("nothing was raised")


async def test_a_cancelled_wait_leaves_the_body_running_and_ends_at_once(
    threads: BodyThreads,
) -> None:
    started, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def body() -> None:
        started.set()
        let_go.wait(60)
        ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, body)
        await threads.run(lambda: started.wait(60))
        group.cancel_scope.cancel()

    assert not ended.is_set()
    let_go.set()
    assert ended.wait(60)


async def test_closed_threads_end_when_their_body_has(threads: BodyThreads) -> None:
    thread = await threads.run(threading.current_thread)
    threads.close()
    thread.join(60)

    assert not thread.is_alive()


HUNG = """
import anyio, threading
from salvor.runtime.bodies import BodyThreads

async def main():
    threads = BodyThreads()
    hung = threading.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(threads.run, lambda: (hung.set(), threading.Event().wait()))
        await threads.run(hung.wait)
        group.cancel_scope.cancel()

anyio.run(main)
"""


def test_a_hung_body_does_not_keep_the_process_from_exiting() -> None:
    ended = subprocess.run([sys.executable, "-c", HUNG], timeout=60, check=False)

    assert ended.returncode == 0
