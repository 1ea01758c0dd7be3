"""Small worlds of sessions: loops that come again, are cut off, and share them with others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from salvor.events.vocabulary import Resumed, RunAbandoned, ToolCallCompleted, ToolCallRequested
from salvor.run_errors import LeaseHeld, RunEnded, SessionStopped
from salvor.runtime.named import named_run_id
from salvor.runtime.outcome import Abandoned, OpenWrite
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.runtime.session import Session
from tests.explorer.explorer import Played, told
from tests.explorer.stage import MakeStore, Stage, banking, put, write

NAME = "order-7"
RUN = named_run_id("session", "default", NAME)
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("put", {"what": "row"}, "a"),
    ("write", {"what": "letter"}, "b"),
)


def with_tools(runtime: Runtime) -> Runtime:
    for one in (write, put, banking):
        runtime.registry.add(one)
    return runtime


async def made(session: Session) -> None:
    """The calls of the loop."""
    for name, arguments, call_id in CALLS:
        await session.call_named(name, arguments, call_id=call_id)


async def loop(runtime: Runtime) -> None:
    """A loop: it opens its session, makes its calls, and closes it."""
    async with runtime.session(NAME) as session:
        await made(session)
        await session.close("closed")


async def to_the_end(stage: Stage) -> None:
    """The loop comes until it is through; an operator who knows the ledger helps."""
    last = with_tools(stage.runtime())
    await last._host.background.open()
    try:
        for _ in range(6):
            stage.clock.move(31)
            try:
                return await loop(last)
            except SessionStopped as stopped:
                if isinstance(stopped.result, Abandoned):
                    return None
                assert isinstance(stopped.result, OpenWrite), stopped.result
                happened = "letter" in stage.ledger
                said = ResolvedOutput("done") if happened else NotDone(worker_dead=True)
                await last.resolve(RUN, said)
            except RunEnded:
                return None
        raise AssertionError("the session does not come to an end")
    finally:
        await last._host.background.close()
        last._host.keeper.stop()


async def once(stage: Stage) -> None:
    """Every call happened, a write once, another one under one key, and is recorded so."""
    await to_the_end(stage)
    puts = {entry for entry in stage.ledger if entry != "letter"}
    assert stage.ledger.count("letter") == 1, f"sent {stage.ledger.count('letter')} times"
    assert len(puts) == 1, f"put under {len(puts)} keys"
    events = await stage.log(RUN)
    done = [e for e in events if isinstance(e, ToolCallCompleted) and e.outcome is None]
    assert len(done) == len(CALLS), "a call has one completion"
    await stage.verified()


async def two_loops(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """Two processes run the loop of one session, and either may freeze."""
    stage = Stage(make_store)
    first, second = with_tools(stage.runtime()), with_tools(stage.runtime())
    played = await stage.play(
        schedule,
        first=lambda: loop(first),
        second=lambda: loop(second),
        time=stage.time(31),
    )
    with told(stage.gate):
        await once(stage)
    return played


async def cut_off(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A loop's call is cancelled anywhere, and the loop goes on in the same block."""
    stage = Stage(make_store)
    runtime = with_tools(stage.runtime())
    scope = anyio.CancelScope()

    async def patient() -> None:
        async with runtime.session(NAME) as session:
            with scope:
                await made(session)
            await made(session)

    async def cancel() -> None:
        await stage.gate("cancel")
        scope.cancel()

    played = await stage.play(schedule, loop=patient, canceller=cancel)
    with told(stage.gate):
        await once(stage)
    return played


async def signalled(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A signal comes while the loop opens its session, a sweeper wakes it, and it parks."""
    stage = Stage(make_store)
    runtime, sender, sweeper = with_tools(stage.runtime()), stage.runtime(), stage.runtime()
    given: list[Any] = []

    async def banks() -> None:
        for _ in range(2):
            try:
                async with runtime.session(NAME) as session:
                    given.append(await session.call_named("banking", {}, call_id="a"))
            except (SessionStopped, LeaseHeld):
                continue

    async def send() -> None:
        await sender.signal(RUN, "banking", "paid", sender_id="s")

    async def sweep() -> None:
        await sweeper.wake(RUN)

    played = await stage.play(schedule, loop=banks, sender=send, sweeper=sweep)
    with told(stage.gate):
        sent = await stage.store.inbox(RUN)
        for _ in range(2):
            await banks()
        assert set(given) <= {"paid"}
        assert bool(given) is bool(sent), "a signal was lost"
        resumed = [e for e in await stage.log(RUN) if isinstance(e, Resumed)]
        assert len(resumed) == len(sent)
        assert stage.ledger == ["bank"]
        await stage.verified()
    return played


async def cancelled(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A cancel comes before, between or after the calls of a session."""
    stage = Stage(make_store)
    runtime, canceller = with_tools(stage.runtime()), stage.runtime()
    asked: list[str] = []

    async def calls() -> None:
        async with runtime.session(NAME) as session:
            await made(session)

    async def cancel() -> None:
        await canceller.cancel(RUN)
        asked.append("cancel")

    played = await stage.play(schedule, loop=calls, canceller=cancel)
    with told(stage.gate):
        trace = stage.gate.trace
        events = await stage.log(RUN)
        intents = [e for e in events if isinstance(e, ToolCallRequested)]
        done = [e for e in events if isinstance(e, ToolCallCompleted)]
        assert len(intents) == len(done) == len(stage.ledger)
        if "canceller: cancel" in trace and asked:
            at = trace.index("canceller: cancel")
            appended = sum(step == "loop: append" for step in trace[:at])
            assert all(one.seq < appended for one in intents), "a call was made after the cancel"
            await canceller.wake(RUN)
            assert isinstance((await stage.log(RUN))[-1], RunAbandoned)
        await stage.verified()
    return played


SESSION_WORLDS = (two_loops, cut_off, signalled, cancelled)
