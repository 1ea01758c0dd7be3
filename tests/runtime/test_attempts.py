from collections.abc import Iterator
from typing import Any

import pytest

from salvor.errors import ToolFailed, ToolFailure
from salvor.events.vocabulary import ToolCallCompleted, ToolCallRequested
from salvor.runtime.outcome import Completed, Failed, OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.decorator import tool
from tests.support import shop
from tests.support.shop import World, fresh_world, happened

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def _calls(runtime: Runtime, run_id: str) -> list[Any]:
    events = [e.event for e in (await runtime.history(run_id)).envelopes]
    return [e for e in events if isinstance(e, ToolCallRequested | ToolCallCompleted)]


async def test_a3_a_read_is_tried_three_times_and_every_attempt_is_kept(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ValueError("one"), happened(False), None]

    result = await runtime.run(shop.looking)

    assert isinstance(result, Completed)
    _, completion = await _calls(runtime, result.run_id)
    assert completion.output == "seen c1"
    assert completion.outcome is None
    assert [(a.cause, a.extent) for a in completion.attempts] == [
        ("ValueError: one", "unknown"),
        ("declined", "no"),
    ]
    assert world.keys == [None, None, None]


async def test_a3_a_read_that_goes_on_failing_fails_and_did_nothing(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ValueError("x")] * 5

    result = await runtime.run(shop.looking)

    assert isinstance(result, Failed)
    assert result.final
    assert len(world.keys) == 3
    _, completion = await _calls(runtime, result.run_id)
    assert (completion.outcome, completion.extent) == ("error", "no")
    assert completion.output["__salvor_error"]["attempts"] == 3


async def test_a3_an_idempotent_call_is_tried_again_under_the_same_key(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ValueError("x"), None]

    result = await runtime.run(shop.notifying)

    assert isinstance(result, Completed)
    assert len(set(world.keys)) == 1
    assert world.keys[0] is not None
    assert world.keys[0].startswith("sha256:")


async def test_a3_a_write_that_may_have_happened_stops_for_a_person(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ConnectionResetError("gone")]

    result = await runtime.run(shop.sending)

    assert isinstance(result, OpenWrite)
    assert (result.seq, result.tool, result.cause) == (1, "send", "ConnectionResetError: gone")
    assert len(await _calls(runtime, result.run_id)) == 1
    assert (await runtime.state(result.run_id)).status == "needs-reconciliation"


async def test_a_resumed_run_refuses_to_go_past_an_open_write(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(None)]
    first = await runtime.run(shop.sending)

    again = await runtime.resume(first.run_id, shop.sending)

    assert isinstance(again, OpenWrite)
    assert len(world.keys) == 1


async def test_b3_a_write_that_did_not_happen_is_tried_under_fresh_intents(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(False), happened(False), None]

    result = await runtime.run(shop.sending)

    assert isinstance(result, Completed)
    calls = await _calls(runtime, result.run_id)
    assert [type(event).__name__[8:] for event in calls] == ["Requested", "Completed"] * 3
    assert [event.outcome for event in calls[1::2]] == ["not_executed", "not_executed", None]
    assert [event.seq for event in calls[::2]] == [1, 3, 5]
    assert len({event.idempotency_key for event in calls[::2]}) == 1
    assert len(set(world.keys)) == 1
    assert world.log == ["send c1"]


async def test_b3_replay_skips_what_was_not_executed(runtime: Runtime, world: World) -> None:
    rounds: list[str] = []

    @workflow
    async def flow(run: Run) -> str:
        rounds.append(await run.call(shop.send, "c1"))
        if len(rounds) == 1:
            raise RuntimeError("once")
        return rounds[-1]

    world.trouble = [happened(False), None]
    failed = await runtime.run(flow)
    result = await runtime.resume(failed.run_id, flow)

    assert isinstance(result, Completed)
    assert rounds == ["sent", "sent"]
    assert world.log == ["send c1"]


async def test_a3_a_write_that_never_happens_fails_after_its_attempts(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(False)] * 5

    result = await runtime.run(shop.sending)

    assert isinstance(result, Failed)
    assert len(world.keys) == 3
    last = (await _calls(runtime, result.run_id))[-1]
    assert (last.outcome, last.extent) == ("error", "no")


@pytest.mark.parametrize(("what", "extent"), [(False, "no"), (True, "yes")])
async def test_a3_a_final_or_certain_failure_of_a_write_is_recorded_at_once(
    runtime: Runtime, world: World, what: bool, extent: str
) -> None:
    world.trouble = [happened(what, final=True)]

    result = await runtime.run(shop.sending)

    assert isinstance(result, Failed)
    _, completion = await _calls(runtime, result.run_id)
    assert (completion.outcome, completion.extent) == ("error", extent)
    assert len(world.keys) == 1


async def test_a2_a_declared_refusal_did_nothing_and_is_final(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed) as caught:
            await run.call(shop.guarded)
        return caught.value.extent

    world.trouble = [KeyError("no such account")]
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "no"
    assert len(world.keys) == 1


async def test_a4_an_exception_can_be_declared_an_answer(runtime: Runtime, world: World) -> None:
    @workflow
    async def flow(run: Run) -> str:
        with pytest.raises(ToolFailed, match="ValueError: declined") as caught:
            await run.call(shop.answering)
        return caught.value.extent

    world.trouble = [ValueError("declined")]
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "unknown"


async def test_a2_an_output_of_another_type_happened_all_the_same(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def flow(run: Run) -> list[str]:
        with pytest.raises(ToolFailed) as caught:
            await run.call(shop.mistyped)
        return [caught.value.kind, caught.value.extent]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ["output_serialization", "yes"]
    assert world.log == ["mistyped"]


async def test_an_exceptions_causes_are_told_once(runtime: Runtime, world: World) -> None:
    inner = OSError("disk")
    outer = ToolFailure("could not post", happened=True)
    outer.__cause__ = inner
    chained = ValueError("bad")
    chained.__cause__ = inner
    world.trouble = [chained]

    result = await runtime.run(shop.sending)

    assert isinstance(result, OpenWrite)
    assert result.cause == "ValueError: bad: OSError: disk"


async def test_what_a_task_group_wrapped_is_told_too(runtime: Runtime, world: World) -> None:
    errors = [ValueError("bad"), ExceptionGroup("inner", [OSError("disk")])]
    world.trouble = [ExceptionGroup("two tasks", errors)]

    result = await runtime.run(shop.sending)

    assert isinstance(result, OpenWrite)
    assert result.cause == (
        "ExceptionGroup: two tasks (2 sub-exceptions): ValueError: bad; "
        "ExceptionGroup: inner (1 sub-exception): OSError: disk"
    )


async def test_a2_an_authors_word_counts_also_inside_a_task_group(
    runtime: Runtime, world: World
) -> None:
    declined = ToolFailure("declined", happened=False, final=True)
    world.trouble = [
        ExceptionGroup("tasks", [ExceptionGroup("tasks", [declined])]),
        ExceptionGroup("tasks", [KeyError("c1")]),
        ExceptionGroup("tasks", [declined, declined]),
        ExceptionGroup("tasks", [ConnectionRefusedError()]),
    ]

    @workflow
    async def refused(run: Run) -> None:
        await run.call(shop.guarded)

    results = [await runtime.run(flow) for flow in (shop.sending, refused, shop.sending, refused)]

    assert [type(result) for result in results] == [Failed, Failed, OpenWrite, OpenWrite]
    assert isinstance(results[0], Failed)
    assert results[0].error == "send: declined"


async def test_text_that_utf8_cannot_carry_is_escaped_in_a_failure(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ToolFailure("half \udcaf a pair", happened=False, final=True)]

    result = await runtime.run(shop.sending)

    assert isinstance(result, Failed)
    assert "half \\udcaf a pair" in result.error


async def test_an_interrupt_stops_between_two_steps(runtime: Runtime, world: World) -> None:
    from salvor.run_errors import RunInterrupted

    @workflow
    async def flow(run: Run) -> str:
        await run.call(shop.send, "c1")
        await run.call(shop.send, "c2")
        return "x"

    world.inside = lambda _: runtime.interrupt()
    run_id = runtime.new_run_id()
    with pytest.raises(RunInterrupted):
        await runtime.start(flow, run_id=run_id)

    assert world.log == ["send c1"]
    assert (await runtime.state(run_id)).status == "running"


async def test_an_interrupt_during_the_backoff_of_a_write_consumes_its_intent(
    runtime: Runtime, world: World
) -> None:
    from salvor.run_errors import RunInterrupted

    world.inside = lambda _: runtime.interrupt()
    world.trouble = [happened(False)]
    run_id = runtime.new_run_id()
    with pytest.raises(RunInterrupted):
        await runtime.start(shop.sending, run_id=run_id)

    calls = await _calls(runtime, run_id)
    assert [calls[-1].outcome] == ["not_executed"]
    assert (await runtime.state(run_id)).status == "running"


async def test_an_attempt_gets_its_arguments_as_they_were_passed(runtime: Runtime) -> None:
    seen: list[list[int]] = []

    @tool(effect="read", retry=shop.NO_WAIT)
    async def drain(items: list[int]) -> int:
        """Empty the list, then fail once."""
        seen.append(list(items))
        items.clear()
        if len(seen) == 1:
            raise ValueError("again")
        return len(seen)

    @workflow
    async def flow(run: Run) -> int:
        return await run.call(drain, [1, 2])

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert seen == [[1, 2], [1, 2]]


async def test_a_store_that_was_closed_ends_the_drive(runtime: Runtime) -> None:
    from salvor.store_errors import StoreClosed

    @tool(effect="write")
    async def closing() -> str:
        """Close the store."""
        await runtime.store.close()
        return "done"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(closing)

    with pytest.raises(StoreClosed):
        await runtime.run(flow)
