"""What is awaited apart ends as it would by itself, and keeps what it sets to itself."""

from collections.abc import Generator
from contextvars import ContextVar

import anyio
import pytest

from salvor.runtime.variables import apart

pytestmark = pytest.mark.anyio

COLOUR: ContextVar[str] = ContextVar("COLOUR", default="none")


async def test_what_is_set_before_a_pause_is_still_set_after_it_and_not_outside() -> None:
    async def paint() -> str:
        COLOUR.set("red")
        await anyio.sleep(0)
        return COLOUR.get()

    assert await apart(paint) == "red"
    assert COLOUR.get() == "none"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), StopAsyncIteration()])
async def test_what_it_raises_comes_out_as_it_is(error: BaseException) -> None:
    async def fail() -> None:
        await anyio.sleep(0)
        raise error

    with pytest.raises(type(error)) as caught:
        await apart(fail)

    assert caught.value is error


async def test_it_is_cancelled_where_it_pauses_and_may_clean_up() -> None:
    seen: list[str] = []

    async def hang() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0)
            seen.append("cleaned up")

    with anyio.CancelScope() as scope:
        scope.cancel()
        await apart(hang)

    assert seen == ["cleaned up"]
    assert scope.cancelled_caught


async def test_its_tasks_and_its_time_limits_are_its_own() -> None:
    seen: list[str] = []

    async def child() -> None:
        seen.append(COLOUR.get())

    async def work() -> str:
        COLOUR.set("green")
        async with anyio.create_task_group() as group:
            group.start_soon(child)
        with anyio.move_on_after(0):
            await anyio.sleep_forever()
        return "through"

    assert await apart(work) == "through"
    assert seen == ["green"]


class Pause:
    def __await__(self) -> Generator[None, None, None]:
        yield


def test_what_is_closed_while_it_pauses_is_told() -> None:
    seen: list[str] = []

    async def hang() -> None:
        COLOUR.set("blue")
        try:
            await Pause()
        finally:
            seen.append(COLOUR.get())

    async def outer() -> None:
        await apart(hang)

    coroutine = outer()
    coroutine.send(None)
    coroutine.close()

    assert seen == ["blue"]
