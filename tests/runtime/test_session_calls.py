"""What a foreign loop may ask of its session, and when (DURABILITY B2, B3, B5, C7, D2)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from salvor.errors import JsonRefused, ToolFailed, UnknownToolError
from salvor.events.store import Store
from salvor.events.vocabulary import ToolCallRequested
from salvor.registry.registry import Registry
from salvor.run_errors import CallIdConflict, SessionStopped, ToolChanged
from salvor.runtime.outcome import OpenWrite, Parked
from salvor.runtime.resolve import NotDone
from salvor.runtime.runtime import Runtime
from salvor.runtime.session import Session
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.approval import ApprovalRule
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeStore
from tests.support.shop import NO_WAIT, World, fresh_world, happened, look, pay, send

pytestmark = pytest.mark.anyio

ASKING = ApprovalRule(tools=("pay",))
SESSIONS: list[Session] = []
SCOPES: list[anyio.CancelScope] = []


@tool(effect="read", retry=NO_WAIT)
async def nested() -> str:
    """Call its own session."""
    return str(await SESSIONS[-1].call_named("look", {"claim_id": "c1"}, call_id="inner"))


@tool(effect="read", retry=NO_WAIT)
async def nested_elsewhere() -> str:
    """Call its own session from a task of its own."""
    async with anyio.create_task_group() as group:
        group.start_soon(nested)
    return "done"


@tool(effect="read")
async def crashing() -> str:
    """End its process, as far as the log knows."""
    SCOPES[-1].cancel()
    await anyio.sleep_forever()
    return ""


@tool(effect="read", name="crashing")
async def mended() -> list[str]:
    """Do what the other did not."""
    return ["mended"]


Processes = Callable[..., Runtime]


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()
    SESSIONS.clear()


@pytest.fixture
async def process(make_store: MakeStore) -> AsyncIterator[Processes]:
    """Makes runtimes on one store."""
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    store: Store = make_store(clock)
    made: list[Runtime] = []

    def make(*rules: ApprovalRule, tools: tuple[Any, ...] = (look, send, pay)) -> Runtime:
        registry = Registry()
        for one in tools:
            registry.add(one)
        runtime = Runtime(
            store=store, registry=registry, clock=clock, ids=FakeIds(len(made)), approvals=rules
        )
        made.append(runtime)
        return runtime

    yield make
    for runtime in made:
        runtime._host.keeper.stop()
        runtime._host.threads.close()
    await store.close()


async def use(runtime: Runtime, name: str, arguments: Any, call_id: str) -> Any:
    """One call of a loop that comes and goes: its value, or where the session rests."""
    async with runtime.session("order-7") as session:
        try:
            return await session.call_named(name, arguments, call_id=call_id)
        except SessionStopped as stopped:
            return stopped.result


@pytest.mark.parametrize(
    "call_id",
    [5, None, "", " ", True, [], "\ud800", "a" * 1_048_577],
    ids=["number", "none", "empty", "blank", "true", "list", "half", "long"],
)
async def test_c7_an_id_that_the_log_could_not_give_back_is_refused(
    process: Processes, call_id: Any
) -> None:
    async with process().session("order-7") as session:
        with pytest.raises((ValueError, JsonRefused), match="call id"):
            await session.call_named("look", {"claim_id": "c1"}, call_id=call_id)
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="a") == "seen c1"


def deep() -> Any:
    value: Any = []
    for _ in range(5000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("look", {"claim_id": float("nan")}),
        ("look", {"claim_id": object()}),
        ("look", {"claim_id": deep()}),
        ("look", {"claim_id": 10**5000}),
        ("look", {5: "c1"}),
        ("look", object()),
        (5, {}),
        ([], {}),
        (None, {}),
        ("\ud800", {}),
        ("a" * 1_048_577, {}),
    ],
    ids=["nan", "object", "deep", "digits", "key", "all", "number", "list", "none", "half", "long"],
)
async def test_b6_what_is_no_json_fails_the_call_and_is_not_recorded(
    process: Processes, name: Any, arguments: Any
) -> None:
    runtime = process()
    async with runtime.session("order-7") as session:
        with pytest.raises(ToolFailed) as failed:
            await session.call_named(name, arguments, call_id="a")
        assert (failed.value.kind, failed.value.extent) == ("invalid_input", "no")
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="a") == "seen c1"

    assert (await runtime.state(session.run_id)).next_seq == 3


async def test_b6_what_is_too_large_is_not_kept_and_the_log_can_be_copied(
    process: Processes,
) -> None:
    runtime = process()
    async with runtime.session("order-7") as session:
        with pytest.raises(ToolFailed, match="there is no tool"):
            await session.call_named("nobody", {"x": "y" * 1_048_577}, call_id="a")
        with pytest.raises(CallIdConflict):
            await session.call_named("nobody", {}, call_id="a")
        with pytest.raises(JsonRefused, match="at most 8,388,608 bytes"):
            await session.close("y" * 8_388_608)
        await session.close("y" * 1_048_577)
    with pytest.raises(JsonRefused, match="longer than"):
        async with runtime.session("y" * 1_048_577):
            pass

    (intent, *_) = (await runtime.history(session.run_id)).envelopes[1:]
    assert isinstance(intent.event, ToolCallRequested)
    assert intent.event.input == {}


@pytest.mark.parametrize("name", ["nested", "nested_elsewhere"])
async def test_c7_a_call_inside_a_call_is_refused_and_waits_for_nothing(
    process: Processes, name: str
) -> None:
    async with process(tools=(look, nested, nested_elsewhere)).session("order-7") as session:
        SESSIONS.append(session)
        with pytest.raises(ToolFailed, match="asked the session for something"):
            await session.call_named(name, {}, call_id="a")
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="b") == "seen c1"


async def test_b3_a_call_that_did_not_happen_keeps_its_key_when_its_id_comes_again(
    process: Processes, world: World
) -> None:
    world.trouble = [happened(None)]
    left = await use(process(), "send", {"claim_id": "c1"}, "a")
    assert isinstance(left, OpenWrite)
    await process().resolve(left.run_id, NotDone(worker_dead=True))

    with pytest.raises(CallIdConflict):
        await use(process(), "send", {"claim_id": "c2"}, "a")
    with pytest.raises(UnknownToolError, match="there is no tool called 'send'"):
        await use(process(tools=(look,)), "send", {"claim_id": "c1"}, "a")
    assert await use(process(), "look", {"claim_id": "c1"}, "b") == "seen c1"
    assert await use(process(), "send", {"claim_id": "c1"}, "a") == "sent"
    assert world.log == ["look c1", "send c1"]
    first, _, again = world.keys
    assert first is not None
    assert first == again


async def test_d2_an_approval_waits_for_its_call_whatever_comes_before_it(
    process: Processes, world: World
) -> None:
    runtime = process(ASKING)
    asked = await use(runtime, "pay", {"claim_id": "c1", "cents": "5"}, "a")
    assert isinstance(asked, Parked)
    await runtime.approve(asked.run_id, True, by="ada")

    assert await use(runtime, "look", {"claim_id": "c1"}, "b") == "seen c1"
    with pytest.raises(UnknownToolError):
        await use(process(ASKING, tools=(look,)), "pay", {"claim_id": "c1", "cents": 5}, "a")
    other = await use(runtime, "pay", {"claim_id": "c2", "cents": 5}, "c")
    assert isinstance(other, Parked)
    await runtime.approve(asked.run_id, False, by="ada")
    with pytest.raises(ToolFailed, match="not approved"):
        await use(runtime, "pay", {"claim_id": "c2", "cents": 5}, "c")
    assert (await use(runtime, "pay", {"claim_id": "c1", "cents": 5}, "a")).cents == 5
    assert world.log == ["look c1", "pay c1"]


async def test_d2_an_approval_is_for_one_call_in_the_same_block_and_in_another(
    process: Processes, world: World
) -> None:
    runtime = process(ApprovalRule(tools=("send",)))
    asked = await use(runtime, "send", {"claim_id": "c1"}, "a")
    await runtime.approve(asked.run_id, True, by="ada")
    async with runtime.session("order-7") as session:
        assert await session.call_named("send", {"claim_id": "c1"}, call_id="a") == "sent"
        with pytest.raises(SessionStopped):
            await session.call_named("send", {"claim_id": "c1"}, call_id="b")

    assert isinstance(await use(runtime, "send", {"claim_id": "c1"}, "c"), Parked)
    assert world.log == ["send c1"]


async def test_b5_a_call_left_open_of_a_tool_that_changed_is_made_again_with_the_word_for_it(
    process: Processes,
) -> None:
    with anyio.CancelScope() as scope:
        SCOPES.append(scope)
        await use(process(tools=(crashing,)), "crashing", {}, "a")
    changed = process(tools=(mended,))

    with pytest.raises(ToolChanged, match="accept_changes=True"):
        await use(changed, "crashing", {}, "a")
    async with changed.session("order-7", accept_changes=True) as session:
        assert await session.call_named("crashing", {}, call_id="a") == ["mended"]
        await session.close()
    assert (await changed.state(session.run_id)).status == "completed"
