"""Middleware: above the body, below validation, and unable to hide what happened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.clock import SystemClock
from salvor.errors import ToolFailure
from salvor.events.vocabulary import ToolCallCompleted
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, Failed, OpenWrite, RunResult
from salvor.runtime.runtime import Runtime
from salvor.stores.connect import open_store
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeIds
from salvor.tools.around import Call, Failure, Guard, Middleware, Next, Outcome, Output
from salvor.tools.contract import Effect, Retry
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool

pytestmark = pytest.mark.anyio


class World:
    """What a tool did, and what it is to do."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.trouble: list[Exception] = []

    def tool(self, effect: Effect, **options: Any) -> FunctionTool:
        @tool(effect=effect, name="pay", retry=Retry(attempts=3, backoff=0.0), tags=["money"])
        def pay(cents: int, to: str = "x") -> str:
            """Pay."""
            self.seen.append(f"body {cents}")
            if self.trouble:
                raise self.trouble.pop(0)
            return f"paid {cents}"

        return function_tool(pay)


@pytest.fixture
def world() -> World:
    return World()


async def driven(
    subject: FunctionTool, *middleware: Middleware, arguments: Any = None
) -> tuple[RunResult[Any], list[ToolCallCompleted]]:
    clock = SystemClock()
    runtime = Runtime(
        store=MemoryStore(clock=clock),
        registry=Registry(),
        clock=clock,
        ids=FakeIds(0),
        guards=[Guard(f"guard{n}", each) for n, each in enumerate(middleware)],
    )
    runtime.registry.merge([subject])
    async with runtime:
        result = await runtime.call_tool(subject, {"cents": 5} if arguments is None else arguments)
        history = await runtime.history(result.run_id)
    events = [envelope.event for envelope in history.envelopes]
    return result, [event for event in events if isinstance(event, ToolCallCompleted)]


async def through(call: Call, next: Next) -> Outcome:
    return await next()


def raising(error: Exception, *, after: bool = False) -> Middleware:
    async def middleware(call: Call, next: Next) -> Outcome:
        if after:
            await next()
        raise error

    return middleware


def giving(make: Callable[[Outcome | None], Any], *, after: bool = True) -> Middleware:
    async def middleware(call: Call, next: Next) -> Outcome:
        outcome: Outcome = make(await next() if after else None)
        return outcome

    return middleware


async def test_the_first_one_is_outermost_and_the_body_innermost(world: World) -> None:
    def marking(name: str) -> Middleware:
        async def middleware(call: Call, next: Next) -> Outcome:
            world.seen.append(f"before {name}")
            outcome = await next()
            world.seen.append(f"after {name}")
            return outcome

        return middleware

    result, _ = await driven(world.tool("write"), marking("a"), marking("b"))

    assert isinstance(result, Completed) and result.output == "paid 5"
    assert world.seen == ["before a", "before b", "body 5", "after b", "after a"]


async def test_it_sees_the_call_as_it_is_recorded(world: World) -> None:
    seen: list[Call] = []

    async def middleware(call: Call, next: Next) -> Outcome:
        seen.append(call)
        return await next()

    result, _ = await driven(world.tool("idempotent"), middleware, arguments={"cents": "5"})

    (call,) = seen
    assert (call.tool, call.effect, call.arguments, call.tags) == (
        "pay",
        "idempotent",
        {"cents": 5},
        ("money",),
    )
    assert (call.run_id, call.position, call.attempt) == (result.run_id, 1, 1)
    assert call.idempotency_key is not None


async def test_refused_arguments_never_reach_it(world: World) -> None:
    result, _ = await driven(
        world.tool("write"), raising(AssertionError("asked")), arguments={"cents": "x"}
    )

    assert isinstance(result, Failed) and "asked" not in result.error
    assert world.seen == []


@pytest.mark.parametrize("effect", ["read", "idempotent", "write"])
async def test_one_that_raises_before_the_body_denies_the_call(
    effect: Effect, world: World
) -> None:
    result, (completion,) = await driven(
        world.tool(effect), through, raising(PermissionError("not you")), through
    )

    assert isinstance(result, Failed)
    assert "guard1 denied it: PermissionError: not you" in result.error
    assert (completion.outcome, completion.extent) == ("error", "no")
    assert len(completion.attempts or ()) == 1
    assert world.seen == []


async def test_what_one_changes_of_the_arguments_nobody_else_sees(world: World) -> None:
    seen: list[Any] = []

    async def meddling(call: Call, next: Next) -> Outcome:
        call.arguments["cents"] = 1
        return await next()

    async def looking(call: Call, next: Next) -> Outcome:
        seen.append(call.arguments)
        return await next()

    await driven(world.tool("write"), meddling, looking)

    assert (seen, world.seen) == ([{"cents": 5}], ["body 5"])


async def test_every_attempt_goes_through_it(world: World) -> None:
    attempts: list[int] = []

    async def counting(call: Call, next: Next) -> Outcome:
        attempts.append(call.attempt)
        return await next()

    world.trouble = [OSError("1"), OSError("2")]
    await driven(world.tool("idempotent"), counting)

    assert attempts == [1, 2, 3]


async def test_one_may_ask_for_another_attempt(world: World) -> None:
    answers: list[Outcome | None] = [Failure(message="slow down", final=False, retry_after=0.0)]

    async def limiting(call: Call, next: Next) -> Outcome:
        return answers.pop() if answers else await next()  # type: ignore[return-value]

    result, _ = await driven(world.tool("write"), limiting)

    assert isinstance(result, Completed)
    assert world.seen == ["body 5"]


async def test_a_failure_after_the_effect_says_that_it_happened(world: World) -> None:
    result, (completion,) = await driven(world.tool("write"), raising(OSError("x"), after=True))

    assert isinstance(result, Failed)
    assert "guard0 failed after it: OSError: x" in result.error
    assert (completion.extent, world.seen) == ("yes", ["body 5"])


async def test_one_cannot_say_that_nothing_happened(world: World) -> None:
    _, (after_output,) = await driven(
        world.tool("write"), giving(lambda outcome: Failure(message="hidden", extent="no"))
    )
    world.trouble = [OSError("broken pipe")]
    after_fault, completions = await driven(
        world.tool("write"), giving(lambda outcome: Failure(message="hidden", extent="no"))
    )

    assert after_output.extent == "yes"
    assert isinstance(after_fault, OpenWrite)
    assert completions == []


async def test_one_cannot_make_a_failed_write_look_done(world: World) -> None:
    world.trouble = [ToolFailure("no money", happened=False, final=True)]
    result, (completion,) = await driven(
        world.tool("write"), giving(lambda outcome: Output("paid"))
    )

    assert isinstance(result, Failed) and "no money" in result.error
    assert completion.extent == "no"


@pytest.mark.parametrize("effect", ["idempotent", "write"])
async def test_only_a_read_can_be_answered_without_its_body(effect: Effect, world: World) -> None:
    result, (completion,) = await driven(
        world.tool(effect), giving(lambda outcome: Output("paid 5"), after=False)
    )
    cached, _ = await driven(
        world.tool("read"), giving(lambda outcome: Output("cached"), after=False)
    )

    assert isinstance(result, Failed) and "which only a read allows" in result.error
    assert completion.extent == "no"
    assert isinstance(cached, Completed) and cached.output == "cached"
    assert world.seen == []


async def test_an_output_may_be_replaced_by_another_that_fits(world: World) -> None:
    result, _ = await driven(world.tool("write"), giving(lambda outcome: Output("[hidden]")))

    assert isinstance(result, Completed) and result.output == "[hidden]"


@pytest.mark.parametrize("value", [5, "\ud800", float("nan"), {"a"}, "x" * (9 * 1024 * 1024)])
async def test_an_output_that_does_not_fit_is_none(value: Any, world: World) -> None:
    result, (completion,) = await driven(world.tool("write"), giving(lambda _: Output(value)))

    assert isinstance(result, Failed) and "guard0 gave back an output" in result.error
    assert completion.extent == "yes"


@pytest.mark.parametrize("after", [True, False])
async def test_anything_else_it_gives_back_is_a_failure(after: bool, world: World) -> None:
    result, (completion,) = await driven(world.tool("write"), giving(lambda _: None, after=after))

    assert isinstance(result, Failed) and "gave back a NoneType" in result.error
    assert completion.extent == ("yes" if after else "no")


async def test_the_body_runs_at_most_once_for_an_attempt(world: World) -> None:
    async def twice(call: Call, next: Next) -> Outcome:
        await next()
        return await next()

    result, (completion,) = await driven(world.tool("write"), twice)

    assert isinstance(result, Failed) and "next was awaited twice" in result.error
    assert (completion.extent, world.seen) == ("yes", ["body 5"])


async def test_a_deadline_of_its_own_leaves_the_outcome_unknown(world: World) -> None:
    @tool(effect="write")
    async def hang() -> str:
        """Hang."""
        world.seen.append("body")
        await anyio.sleep_forever()
        return "never"

    async def hurrying(call: Call, next: Next) -> Outcome:
        with anyio.move_on_after(0.01):
            return await next()
        return Failure(message="too slow")

    result, completions = await driven(function_tool(hang), hurrying, arguments={})

    assert isinstance(result, OpenWrite)
    assert result.cause == "guard0 cut it off: too slow"
    assert (completions, world.seen) == ([], ["body"])


async def test_what_stops_a_drive_cannot_be_swallowed() -> None:
    @tool(effect="read")
    async def stopping() -> None:
        """Stop."""
        raise KeyboardInterrupt

    async def swallowing(call: Call, next: Next) -> Outcome:
        try:
            return await next()
        except BaseException:
            return Output(None)

    with pytest.raises(KeyboardInterrupt):
        await driven(function_tool(stopping), swallowing, arguments={})


async def test_a_time_limit_of_the_tool_cannot_be_hidden(world: World) -> None:
    @tool(effect="read", timeout=0.01)
    async def slow() -> str:
        """Wait."""
        await anyio.sleep_forever()
        return "never"

    shown: list[Outcome] = []

    async def looking(call: Call, next: Next) -> Outcome:
        shown.append(await next())
        return Output("hidden")

    await driven(function_tool(slow), looking, arguments={})

    assert isinstance(shown[0], Failure)
    assert shown[0].extent == "unknown"


async def test_a_body_that_outlives_its_time_limit_cannot_be_hidden() -> None:
    opened = threading.Event()

    @tool(effect="read", timeout=0.01)
    def hang() -> str:
        """Hang."""
        opened.wait(60)
        return "late"

    try:
        result, completions = await driven(
            function_tool(hang), giving(lambda _: Output("hidden")), arguments={}
        )
    finally:
        opened.set()

    assert isinstance(result, Failed) and "timed out" in result.error
    assert completions[0].outcome == "error"


async def test_one_cannot_make_a_final_failure_pass(world: World) -> None:
    world.trouble = [ToolFailure("no money", happened=False, final=True)] * 3

    _, (completion,) = await driven(
        world.tool("write"), giving(lambda _: Failure(message="try again", final=False))
    )

    assert completion.extent == "no"
    assert world.seen == ["body 5"]


async def test_a_cancelled_call_is_not_recorded_whatever_it_swallows(tmp_path: Path) -> None:
    @tool(effect="read")
    async def hang() -> None:
        """Hang."""
        scope.cancel()
        await anyio.sleep_forever()

    async def swallowing(call: Call, next: Next) -> Outcome:
        try:
            return await next()
        except BaseException:
            return Failure(message="swallowed")

    clock = SystemClock()
    runtime = Runtime(
        store=open_store(str(tmp_path / "runs.db"), clock=clock),
        registry=Registry(),
        clock=clock,
        ids=FakeIds(0),
        guards=[Guard("swallowing", swallowing)],
    )
    runtime.registry.add(hang)
    run_id = runtime.new_run_id()
    async with runtime:
        with anyio.CancelScope() as scope:
            await runtime.call_tool(runtime.registry.get("hang"), {}, run_id=run_id)
        history = await runtime.history(run_id)

    kinds = [type(envelope.event).__name__ for envelope in history.envelopes]
    assert kinds == ["RunStarted", "ToolCallRequested"]
