"""What plugins hold open while a runtime is: entered, left, and isolated from each other."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.lifespans import lifespans_open
from salvor.plugins.loader import LifespanOf, Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, Failed
from salvor.tools.around import Call, Failure, Guard, Outcome, Output
from salvor.tools.decorator import tool

pytestmark = pytest.mark.anyio

Manager = Callable[[], AbstractAsyncContextManager[None]]


def recording(log: list[str], name: str) -> Manager:
    @asynccontextmanager
    async def held() -> AsyncIterator[None]:
        log.append(f"enter {name}")
        try:
            yield
            log.append(f"leave {name}")
        finally:
            await anyio.lowlevel.checkpoint()
            log.append(f"end {name}")

    return held


def of(manager: Manager, name: str = "acme:main", *, guards: bool = False) -> LifespanOf:
    return LifespanOf(plugin=name, tools=frozenset({"theirs"}), guards=guards, manager=manager)


async def asked(guard: Guard, tool: str) -> Outcome:
    async def body() -> Outcome:
        return Output("done")

    call = Call(
        tool=tool,
        effect="read",
        arguments={},
        tags=(),
        run_id="r",
        position=1,
        attempt=1,
        idempotency_key=None,
    )
    return await guard.function(call, body)


async def test_they_are_entered_in_order_and_left_in_the_opposite_one() -> None:
    log: list[str] = []

    async with lifespans_open([of(recording(log, "a")), of(recording(log, "b"))]):
        log.append("body")

    assert log == ["enter a", "enter b", "body", "leave b", "end b", "leave a", "end a"]


async def test_an_error_of_the_body_comes_out_as_it_is_and_lifespans_end_well() -> None:
    log: list[str] = []

    with pytest.raises(KeyError, match="mine"):
        async with lifespans_open([of(recording(log, "a"))]):
            raise KeyError("mine")

    assert log == ["enter a", "leave a", "end a"]


async def test_one_that_cannot_start_takes_its_own_tools_down_and_no_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log: list[str] = []

    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        if not log:
            raise OSError("no\nhost")
        yield

    async with lifespans_open([of(broken), of(recording(log, "b"), "other:main")]) as guards:
        refused = await asked(guards[0], "theirs")
        let_through = await asked(guards[0], "another")

    assert refused == Failure(message="the plugin acme:main is not up: OSError: no host")
    assert let_through == Output("done")
    assert log == ["enter b", "leave b", "end b"]
    assert "the lifespan of the plugin acme:main failed: OSError: no host" in caplog.text


async def test_one_of_a_plugin_that_guards_calls_takes_all_of_them_down() -> None:
    def broken() -> Any:
        raise ValueError

    async with lifespans_open([of(broken, guards=True)]) as (guard,):
        refused = await asked(guard, "another")

    assert refused == Failure(message="the plugin acme:main is not up: ValueError")


async def test_a_background_task_that_crashes_cancels_nobody_else() -> None:
    crash = anyio.Event()

    @asynccontextmanager
    async def with_task() -> AsyncIterator[None]:
        async def background() -> None:
            await crash.wait()
            raise RuntimeError("lost")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(background)
            yield

    async with lifespans_open([of(with_task)]) as (guard,):
        before = await asked(guard, "theirs")
        crash.set()
        with anyio.fail_after(60):
            while not isinstance(after := await asked(guard, "theirs"), Failure):
                await anyio.lowlevel.checkpoint()

    assert before == Output("done")
    assert "not up: " in after.message


async def test_one_that_fails_when_it_is_left_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @asynccontextmanager
    async def leaves_badly() -> AsyncIterator[None]:
        yield
        raise OSError("gone")

    log: list[str] = []
    async with lifespans_open([of(recording(log, "a")), of(leaves_badly)]):
        pass

    assert log[-1] == "end a"
    assert "failed: OSError: gone" in caplog.text


async def test_one_that_does_not_end_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def hangs() -> AsyncIterator[None]:
        yield
        await anyio.sleep_forever()

    with anyio.fail_after(60):
        async with lifespans_open([of(hangs)], leave_within=0.01):
            pass

    assert "did not end within 0.01 s" in caplog.text


async def test_a_cancelled_body_does_not_cut_clean_up_off() -> None:
    log: list[str] = []

    with anyio.CancelScope() as scope:
        async with lifespans_open([of(recording(log, "a"))]):
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert log == ["enter a", "leave a", "end a"]


async def test_one_that_hangs_at_the_start_can_be_cancelled() -> None:
    @asynccontextmanager
    async def hangs() -> AsyncIterator[None]:
        await anyio.sleep_forever()
        yield

    with anyio.move_on_after(0.01) as scope:
        async with lifespans_open([of(hangs)]):
            raise AssertionError("it cannot have started")

    assert scope.cancelled_caught


class Pool:
    def __init__(self) -> None:
        self.state = "closed"


def plugin_with(pool: Pool, registry: Registry, *, fails: bool = False) -> Plugins:
    @tool(effect="read")
    def pool_state() -> str:
        """Tell how the pool is."""
        return pool.state

    @asynccontextmanager
    async def opened() -> AsyncIterator[None]:
        if fails:
            raise OSError("refused")
        pool.state = "open"
        yield
        pool.state = "closed again"

    @hookimpl
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.registry.add(pool_state)
        plugin.lifespan(opened)

    loaded = SimpleNamespace(salvor_register_tools=salvor_register_tools)
    entry = SimpleNamespace(name="main", value="acme", dist=None, load=lambda: loaded)
    return load_plugins(registry, entry_points=[entry], environ={})


async def test_a_runtime_holds_them_open_around_its_calls() -> None:
    pool, registry = Pool(), Registry()
    plugins = plugin_with(pool, registry)
    before = pool.state

    async with open_runtime("memory:", registry=registry, plugins=plugins) as runtime:
        result = await runtime.call_tool(registry.get("pool_state"), {})

    assert isinstance(result, Completed)
    assert (before, result.output, pool.state) == ("closed", "open", "closed again")


async def test_a_runtime_opens_without_one_and_says_why_its_tools_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    pool, registry = Pool(), Registry()
    plugins = plugin_with(pool, registry, fails=True)

    async with open_runtime("memory:", registry=registry, plugins=plugins) as runtime:
        result = await runtime.call_tool(registry.get("pool_state"), {})

    assert isinstance(result, Failed)
    assert "the plugin unknown:main is not up: OSError: refused" in result.error
