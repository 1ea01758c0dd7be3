"""A tool's own question to the outside world, and tools that changed (DURABILITY F3, B5)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from salvor.errors import ToolDefinitionError
from salvor.events.vocabulary import ToolCallCompleted
from salvor.run_errors import NoQuestion, NotDoneRefused, ToolChanged
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from salvor.tools.verification import CannotTell, Happened, NotHappened
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import WORLD, World, fresh_world, happened, sending

pytestmark = pytest.mark.anyio

ANSWERS: list[Any] = []
ASKED: list[tuple[dict[str, Any], str | None]] = []


def ask(arguments: dict[str, Any], key: str | None) -> Any:
    ASKED.append((arguments, key))
    answer = ANSWERS.pop(0)
    if isinstance(answer, Exception):
        raise answer
    return answer


async def ask_slowly(arguments: dict[str, Any], key: str | None) -> Any:
    return ask(arguments, key)


@tool(effect="write", idempotency_key="claim_id", verify=ask)
async def transfer(ctx: Context, claim_id: str) -> str:
    """Transfer."""
    WORLD.act(f"transfer {claim_id}", ctx)
    return "moved"


@tool(effect="write", verify=ask_slowly)
async def post(ctx: Context, claim_id: str) -> str:
    """Post."""
    WORLD.act(f"post {claim_id}", ctx)
    return "posted"


@workflow
async def transferring(run: Run) -> str:
    return await run.call(transfer, "c1")


@workflow
async def posting(run: Run) -> str:
    return await run.call(post, "c1")


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    ANSWERS.clear()
    ASKED.clear()
    yield fresh_world()


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> Runtime:
    return make_runtime(clock=FakeClock(datetime(2026, 7, 9, tzinfo=UTC)))


async def left_open(runtime: Runtime, world: World, flow: Any = transferring) -> str:
    world.trouble = [happened(None)]
    opened = await runtime.run(flow)
    assert isinstance(opened, OpenWrite)
    return opened.run_id


@pytest.mark.parametrize("flow", [transferring, posting])
async def test_f3_what_happened_becomes_the_output(
    runtime: Runtime, world: World, flow: Any
) -> None:
    run_id = await left_open(runtime, world, flow)
    ANSWERS.append(Happened("found"))
    done = await runtime.resume(run_id, flow, verify=True)

    assert isinstance(done, Completed)
    assert done.output == "found"
    assert world.log == []
    assert ASKED[0][0] == {"claim_id": "c1"}
    assert ASKED[0][1] is not None
    completion = (await runtime.history(run_id)).envelopes[2].event
    assert isinstance(completion, ToolCallCompleted)
    assert (completion.settled_by, completion.settled_caller) == ("operator", "verify")


async def test_f3_what_did_not_happen_passes_the_gate_of_f2(runtime: Runtime, world: World) -> None:
    run_id = await left_open(runtime, world)
    ANSWERS.extend([NotHappened(), NotHappened()])
    with pytest.raises(NotDoneRefused):
        await runtime.resume(run_id, transferring, verify=True)
    assert (await runtime.state(run_id)).status == "needs-reconciliation"
    done = await runtime.resume(run_id, transferring, verify=True, worker_dead=True)

    assert isinstance(done, Completed)
    assert done.output == "moved"
    assert world.log == ["transfer c1"]


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (CannotTell("the bank is closed"), "the bank is closed"),
        (LookupError("no line"), "its verify failed: LookupError: no line"),
        (None, "its verify gave back a NoneType"),
        (Happened(5), "what its verify found does not fit the tool"),
    ],
)
async def test_f3_what_nobody_knows_stays_open(
    runtime: Runtime, world: World, answer: Any, cause: str
) -> None:
    run_id = await left_open(runtime, world)
    ANSWERS.append(answer)
    still = await runtime.resume(run_id, transferring, verify=True)

    assert isinstance(still, OpenWrite)
    assert cause in still.cause
    assert (await runtime.state(run_id)).next_seq == 2


async def test_f3_nothing_is_asked_silently(runtime: Runtime, world: World) -> None:
    run_id = await left_open(runtime, world)

    assert isinstance(await runtime.resume(run_id, transferring), OpenWrite)
    assert ASKED == []


async def test_f3_a_tool_without_a_question_says_so(runtime: Runtime, world: World) -> None:
    run_id = await left_open(runtime, world, sending)

    with pytest.raises(NoQuestion, match="send has no verify"):
        await runtime.resume(run_id, sending, verify=True)


def test_only_a_write_has_something_to_verify() -> None:
    with pytest.raises(ToolDefinitionError, match="verify is for a write"):

        @tool(effect="idempotent", verify=ask)
        def put() -> None:
            """Put."""

    with pytest.raises(ToolDefinitionError, match="verify has to be a function"):

        @tool(effect="write", verify="yes")  # type: ignore[call-overload, untyped-decorator]
        def send() -> None:
            """Send."""


def version(effect: str, *, more: bool = False) -> Any:
    """The tool `put` as one release has it, and its workflow."""

    if not more:

        async def put(what: str) -> str:
            """Put."""
            WORLD.log.append(f"put {what}")
            return "put"
    else:

        async def put(what: str, more: int = 1) -> str:  # type: ignore[misc]
            """Put more."""
            WORLD.log.append(f"put {what} {more}")
            return "put"

    declared = tool(effect=effect)(put)  # type: ignore[call-overload]

    @workflow(name="putting")
    async def putting(run: Run) -> str:
        return await run.call(declared, what="it")

    return putting


async def test_b5_a_call_left_open_is_not_made_again_by_a_tool_that_was_changed(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    first = make_runtime(clock=clock)
    run_id = await stopped_inside(first, clock)
    changed = version("idempotent", more=True)
    second = make_runtime(first.store, clock=clock)
    with pytest.raises(ToolChanged, match="--accept-changes"):
        await second.resume(run_id, changed)
    assert (await second.state(run_id)).next_seq == 2
    done = await make_runtime(first.store, clock=clock).resume(run_id, changed, accept_changes=True)

    assert isinstance(done, Completed)
    assert world.log == ["put it 1"]
    completion = (await second.history(run_id)).envelopes[2].event
    assert isinstance(completion, ToolCallCompleted)
    assert completion.tool_digest is not None


async def test_b5_the_same_tool_makes_it_again_without_a_word(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    first = make_runtime(clock=clock)
    run_id = await stopped_inside(first, clock)
    second = make_runtime(first.store, clock=clock)
    done = await second.resume(run_id, version("idempotent"))

    assert isinstance(done, Completed)
    completion = (await second.history(run_id)).envelopes[2].event
    assert isinstance(completion, ToolCallCompleted)
    assert completion.tool_digest is None


async def test_b5_what_differs_is_said(make_runtime: MakeRuntime, world: World) -> None:
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    first = make_runtime(clock=clock)
    run_id = await stopped_inside(first, clock)

    with pytest.raises(ToolChanged, match="it is read now and was idempotent") as caught:
        await make_runtime(first.store, clock=clock).resume(run_id, version("read"))
    assert caught.value.recorded != caught.value.found


async def stopped_inside(runtime: Runtime, clock: FakeClock) -> str:
    """An idempotent call that was asked for and never came back."""
    from salvor.events.records import Driver
    from salvor.events.vocabulary import RunStarted, ToolCallRequested
    from salvor.runtime.recorder import Recorder
    from salvor.runtime.workflow import define
    from salvor.values import content_hash

    flow = version("idempotent")
    fresh = runtime.registry.for_function(flow.__closure__[0].cell_contents)
    run_id = runtime.new_run_id()
    driver = Driver(id="gone", pid=1, host="gone")
    fence, head = await runtime.store.take_over(run_id, driver, lease=1.0, create=True)
    recorder = Recorder(runtime.store, clock, fence=fence, head=head, last=None)
    await recorder.append(
        RunStarted(agent_def_hash=define(flow).hash, input={}),
        ToolCallRequested(
            seq=1,
            tool="put",
            input={"what": "it"},
            effect="idempotent",
            idempotency_key="k",
            tool_digest=fresh.digest,
            given=content_hash({"what": "it"}),
        ),
    )
    clock.move(2)
    return run_id
