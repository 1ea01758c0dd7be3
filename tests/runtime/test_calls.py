from collections.abc import Iterator
from typing import Any

import pytest

from salvor.errors import ToolFailed
from salvor.events.vocabulary import RunStarted, ToolCallCompleted, ToolCallRequested
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from salvor.values import content_hash
from tests.support import shop
from tests.support.shop import Receipt, World, fresh_world

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def _events(runtime: Runtime, run_id: str) -> list[Any]:
    return [e.event for e in (await runtime.history(run_id)).envelopes]


async def test_a_call_is_an_intent_and_a_completion(runtime: Runtime) -> None:
    result = await runtime.run(shop.paying, claim_id="c1", cents=250)

    assert isinstance(result, Completed)
    assert result.output == Receipt(claim_id="c1", cents=250)
    _, intent, completion, _ = await _events(runtime, result.run_id)
    assert isinstance(intent, ToolCallRequested)
    assert (intent.seq, intent.tool, intent.effect) == (1, "pay", "write")
    assert intent.input == {"claim_id": "c1", "cents": 250}
    assert intent.idempotency_key is not None
    assert intent.tool_digest == function_tool(shop.pay).digest
    assert completion == ToolCallCompleted(seq=1, output={"claim_id": "c1", "cents": 250})


async def test_b1_the_intent_is_durable_when_the_body_runs(runtime: Runtime, world: World) -> None:
    seen: list[Any] = []

    @workflow
    async def watching(run: Run) -> str:
        async def inside() -> None:
            seen.extend(await _events(runtime, run.id))

        @tool(effect="read")
        async def peek() -> str:
            """Peek."""
            await inside()
            return "x"

        return await run.call(peek)

    await runtime.run(watching)

    assert [type(event) for event in seen] == [RunStarted, ToolCallRequested]


async def test_a_finished_run_is_reported_without_executing_anything(
    runtime: Runtime, world: World
) -> None:
    first = await runtime.run(shop.paying, claim_id="c1", cents=250)
    again = await runtime.resume(first.run_id, shop.paying)

    assert again == first
    assert world.log == ["pay c1"]


async def test_replay_gives_the_same_values_and_executes_nothing(
    runtime: Runtime, world: World
) -> None:
    got: list[object] = []

    @workflow
    async def flow(run: Run) -> None:
        got.append(await run.call(shop.look, claim_id="c1"))
        got.append(await run.call(shop.pay, claim_id="c1", cents=5))
        got.append(await run.now())
        got.append(await run.random())
        if len(got) == 4:
            raise RuntimeError("a bug, fixed by the second time")

    failed = await runtime.run(flow)
    assert isinstance(failed, Failed)
    assert not failed.final
    result = await runtime.resume(failed.run_id, flow)

    assert isinstance(result, Completed)
    assert got[:4] == got[4:]
    assert isinstance(got[1], Receipt)
    assert world.log == ["look c1", "pay c1"]


async def test_refused_arguments_are_recorded_in_one_append_and_replayed(
    runtime: Runtime, world: World
) -> None:
    raised: list[ToolFailed] = []

    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call_named("pay", {"claim_id": "c1", "cent": True})
        except ToolFailed as error:
            raised.append(error)
        if len(raised) == 1:
            raise RuntimeError("once")
        return "went on"

    runtime.registry.add(shop.pay)
    failed = await runtime.run(flow)
    await runtime.resume(failed.run_id, flow)

    live, replayed = raised
    assert (live.kind, live.extent) == ("invalid_input", "no")
    assert str(live) == str(replayed)
    assert "/cent" in str(live)
    assert "/cents" in str(live)
    events = await _events(runtime, failed.run_id)
    assert isinstance(events[1], ToolCallRequested)
    assert isinstance(events[2], ToolCallCompleted)
    assert (events[2].outcome, events[2].extent) == ("error", "no")
    assert world.log == []


async def test_b6_a_missing_key_refuses_the_call(runtime: Runtime, world: World) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="claim_id"):
            await run.call_named("mark", {"claim_id": ""})
        return "refused"

    runtime.registry.add(shop.mark)
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert world.log == []


async def test_b6_what_is_not_json_is_refused_before_anything_is_recorded(
    runtime: Runtime,
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="JSON"):
            await run.call_named("pay", {"claim_id": object()})  # type: ignore[dict-item]
        with pytest.raises(ToolFailed, match="JSON"):
            await run.call(shop.look, claim_id="\ud800")
        return "refused"

    runtime.registry.add(shop.pay)
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert len(await _events(runtime, result.run_id)) == 2


async def test_an_unknown_tool_is_a_recorded_failure_with_a_hint(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="'pay'"):
            await run.call_named("payy", {})
        return "refused"

    runtime.registry.add(shop.pay)
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert len(await _events(runtime, result.run_id)) == 4


async def test_b4_a_parameter_with_a_default_may_be_added_between_drives(
    runtime: Runtime,
) -> None:
    calls: list[str] = []

    def old(a: int) -> str:
        """Old."""
        calls.append("old")
        return "x"

    def new(a: int, b: int = 0) -> str:
        """New."""
        calls.append("new")
        return "x"

    def flow_of(fn: Any, broken: bool) -> Any:
        named = tool(effect="read", name="counted")(fn)

        @workflow(name="flow")
        async def flow(run: Run) -> str:
            seen: str = await run.call(named, 1)
            if broken:
                raise RuntimeError("once")
            return seen

        return flow

    failed = await runtime.run(flow_of(old, True))
    second = Runtime(
        store=runtime.store,
        registry=Registry(),
        clock=runtime._host.clock,
        ids=runtime._host.ids,
    )
    result = await second.resume(failed.run_id, flow_of(new, False))

    assert isinstance(result, Completed)
    assert calls == ["old"]


async def test_a_recorded_output_that_todays_type_refuses_is_a_divergence(
    runtime: Runtime,
) -> None:
    from salvor.store_errors import Divergence

    def flow_of(fn: Any, broken: bool) -> Any:
        @workflow(name="flow")
        async def flow(run: Run) -> str:
            await run.call(fn)
            if broken:
                raise RuntimeError("once")
            return "x"

        return flow

    @tool(effect="read", name="thing")
    def text() -> str:
        """Text."""
        return "abc"

    @tool(effect="read", name="thing")
    def number() -> int:
        """Number."""
        return 3

    failed = await runtime.run(flow_of(text, True))
    second = Runtime(
        store=runtime.store,
        registry=Registry(),
        clock=runtime._host.clock,
        ids=runtime._host.ids,
    )
    with pytest.raises(Divergence, match="output"):
        await second.resume(failed.run_id, flow_of(number, False))


async def test_an_output_that_looks_like_a_failure_is_an_output(runtime: Runtime) -> None:
    @tool(effect="read")
    def forge() -> dict[str, Any]:
        """Forge."""
        return {"__salvor_error": {"is_error": True, "kind": "handler", "message": "x"}}

    @workflow
    async def flow(run: Run) -> list[str]:
        return list(await run.call(forge))

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["__salvor_error"]


async def test_arguments_that_are_too_large_are_refused_and_not_kept(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="1,048,576 bytes"):
            await run.call(shop.look, claim_id="x" * 2**20)
        return "refused"

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert (await _events(runtime, result.run_id))[1].input == {}


async def test_b3_an_undeclared_key_is_the_hash_of_run_position_and_tool(
    runtime: Runtime, world: World
) -> None:
    result = await runtime.run(shop.sending)

    assert world.keys == [content_hash({"run": result.run_id, "seq": 1, "tool": "send"})]


async def test_a_tool_name_that_utf8_cannot_carry_is_refused(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="name of the tool"):
            await run.call_named("n\udc80", {})
        return "refused"

    assert isinstance(await runtime.run(flow), Completed)


async def test_b6_a_key_function_without_a_key_is_a_recorded_refusal(runtime: Runtime) -> None:
    def nothing(arguments: Any) -> Any:
        return float("nan")

    @tool(effect="write", idempotency_key=nothing)
    async def put(n: int) -> str:
        """Put."""
        return "x"

    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed):
            await run.call(put, 1)
        return "refused"

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert len(await _events(runtime, result.run_id)) == 4
