"""Small worlds to explore: two drivers, an operator, a signaller, a clock; a ledger as oracle."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from salvor.events.vocabulary import (
    Resumed,
    RunAbandoned,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.runtime.outcome import Abandoned, Completed, Parked
from salvor.tools.approval import ApprovalRule
from tests.explorer.explorer import Played, told
from tests.explorer.session_worlds import SESSION_WORLDS
from tests.explorer.stage import (
    PASSES,
    MakeStore,
    Stage,
    approving,
    asking,
    deciding,
    keying,
    putting,
    waiting,
    writing,
)


async def two_drivers(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A write, a driver that freezes anywhere, a second one after its lease."""
    stage = Stage(make_store)
    first, second = stage.runtime(), stage.runtime()
    run_id = first.new_run_id()

    async def resume() -> None:
        await second.resume(run_id, writing)

    played = await stage.play(
        schedule,
        first=lambda: first.start(writing, run_id=run_id),
        second=resume,
        time=stage.time(31),
    )
    with told(stage.gate):
        if (await stage.store.runs()) and (await stage.store.head(run_id)).length:
            ended = await stage.to_the_end(run_id, writing)
            assert isinstance(ended, Completed), ended
            assert stage.ledger == ["letter"], f"the letter was sent {len(stage.ledger)} times"
        await stage.verified()
    return played


async def two_drivers_put(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """An idempotent call: again and again perhaps, but under one key."""
    stage = Stage(make_store)
    first, second = stage.runtime(), stage.runtime()
    run_id = first.new_run_id()
    played = await stage.play(
        schedule,
        first=lambda: first.start(putting, run_id=run_id),
        second=lambda: second.resume(run_id, putting),
        time=stage.time(31),
    )
    with told(stage.gate):
        if (await stage.store.runs()) and (await stage.store.head(run_id)).length:
            assert isinstance(await stage.to_the_end(run_id, putting), Completed)
            assert len(set(stage.ledger)) == 1, stage.ledger
            events = await stage.log(run_id)
            completions = [e for e in events if isinstance(e, ToolCallCompleted)]
            assert len(completions) == 1, "one call has one completion"
        await stage.verified()
    return played


async def two_at_once(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """Two drivers of one run, and no lease runs out: one of them is refused."""
    stage = Stage(make_store)
    first, second = stage.runtime(), stage.runtime()
    run_id = first.new_run_id()
    played = await stage.play(
        schedule,
        first=lambda: first.start(putting, run_id=run_id),
        second=lambda: second.resume(run_id, putting),
    )
    with told(stage.gate):
        assert len(stage.ledger) == 1, "two drivers were at it although a lease lived"
        await stage.verified()
    return played


async def forced_out(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """An operator ends a run by force while a driver makes an open call again."""
    stage = Stage(make_store)
    driver, operator = stage.runtime(), stage.runtime()
    run_id = await stage.left_open()
    played = await stage.play(
        schedule,
        driver=lambda: driver.resume(run_id, putting),
        operator=lambda: operator.abandon(run_id, force=True),
    )
    with told(stage.gate):
        trace = stage.gate.trace
        if "operator: settle" in trace and "driver: confirm" in trace:
            ended_first = trace.index("operator: settle") < trace.index("driver: confirm")
            taken = trace.index("driver: take_over") < trace.index("operator: settle")
            if ended_first and taken:
                assert stage.ledger == [], "a call was made again by who had lost its run"
        await stage.verified()
    return played


async def two_runs_one_key(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """Two runs want one key, and one of them may freeze."""
    stage = Stage(make_store)
    first, second = stage.runtime(), stage.runtime()
    ids = [first.new_run_id(), second.new_run_id()]
    played = await stage.play(
        schedule,
        first=lambda: first.start(keying, run_id=ids[0]),
        second=lambda: second.start(keying, run_id=ids[1]),
        time=stage.time(31),
    )
    with told(stage.gate):
        for run_id in ids:
            assert isinstance(await stage.to_the_end(run_id, keying), Completed)
        assert stage.ledger == ["payment"], f"paid {len(stage.ledger)} times"
        [claim] = await stage.store.claims()
        assert claim.state == "committed"
        await stage.verified()
    return played


async def signal_and_park(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A signal comes while the run looks for it, parks, or is woken."""
    stage = Stage(make_store)
    driver, sender, sweeper = stage.runtime(), stage.runtime(), stage.runtime()
    run_id = driver.new_run_id()

    async def sweep() -> None:
        await sweeper.wake(run_id, waiting)

    played = await stage.play(
        schedule,
        driver=lambda: driver.start(waiting, run_id=run_id),
        sender=lambda: sender.signal(run_id, "go", 7, sender_id="s"),
        sweeper=sweep,
    )
    with told(stage.gate):
        sent = len(await stage.store.inbox(run_id)) == 1
        if sent:
            if not (await stage.store.head(run_id)).ended:
                assert await stage.store.due() == [run_id], "nobody will look at the run"
            ended = await stage.to_the_end(run_id, waiting)
            assert isinstance(ended, Completed), ended
            events = await stage.log(run_id)
            answers = [event for event in events if isinstance(event, Resumed)]
            assert [event.inbox_id for event in answers] == [1]
            [signal] = await stage.store.inbox(run_id)
            assert signal.consumed is not None
        await stage.verified()
    return played


async def answer_deadline_cancel(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A person, the clock and a cancel want to end one park."""
    stage = Stage(make_store)
    driver, person, sweeper, canceller = (stage.runtime() for _ in range(4))
    parked = await driver.run(deciding)
    run_id = parked.run_id
    said: list[str] = []

    async def answer() -> None:
        await person.answer(run_id, "this", workflow=deciding)
        said.append("this")

    async def cancel() -> None:
        await canceller.cancel(run_id)

    stage.clock.move(10)
    played = await stage.play(
        schedule,
        person=answer,
        sweeper=lambda: sweeper.wake(run_id, deciding),
        canceller=cancel,
    )
    with told(stage.gate):
        ended = await stage.to_the_end(run_id, deciding)
        assert isinstance(ended, Completed | Abandoned)
        events = await stage.log(run_id)
        ends = [event for event in events if isinstance(event, Resumed | RunAbandoned)]
        resumed = [event for event in ends if isinstance(event, Resumed)]
        assert len(resumed) <= 1, "one park was answered twice"
        if said:
            assert [event.input for event in resumed] == ["this"], "a person's answer was lost"
        await stage.verified()
    return played


async def late_answer(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A person answers while the deadline passes."""
    stage = Stage(make_store)
    driver, person, sweeper = (stage.runtime() for _ in range(3))
    parked = await driver.run(deciding)
    run_id = parked.run_id
    when: list[datetime] = []

    async def answer() -> None:
        await person.answer(run_id, "this", workflow=deciding)
        when.append(stage.clock.now())

    played = await stage.play(
        schedule,
        person=answer,
        sweeper=lambda: sweeper.wake(run_id, deciding),
        time=stage.time(11),
    )
    with told(stage.gate):
        ended = await stage.to_the_end(run_id, deciding)
        assert isinstance(ended, Completed)
        [resumed] = [e for e in await stage.log(run_id) if isinstance(e, Resumed)]
        assert ended.output == ("this" if when else "neither")
        late = [e for e in await stage.log(run_id) if isinstance(e, Resumed)]
        assert late == [resumed]
        assert when or resumed.by == "deadline"
        if when and "person: settle" in stage.gate.trace:
            in_time = stage.gate.trace.index("person: settle") < stage.gate.trace.index(PASSES)
            assert in_time, "an answer was taken after the deadline"
        await stage.verified()
    return played


async def cancel_and_write(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A cancel comes before, inside or after a write; it never cuts one off."""
    stage = Stage(make_store)
    driver, canceller = stage.runtime(), stage.runtime()
    run_id = driver.new_run_id()
    asked: list[int] = []

    async def cancel() -> None:
        await canceller.cancel(run_id)
        asked.append(len(stage.ledger))

    played = await stage.play(
        schedule, driver=lambda: driver.start(writing, run_id=run_id), canceller=cancel
    )
    with told(stage.gate):
        ended = await stage.to_the_end(run_id, writing)
        events = await stage.log(run_id)
        intents = [e for e in events if isinstance(e, ToolCallRequested)]
        done = [e for e in events if isinstance(e, ToolCallCompleted)]
        assert len(intents) == len(done) == len(stage.ledger)
        first = next(iter(stage.gate.trace), "")
        assert first.endswith("begin")
        if isinstance(ended, Abandoned):
            assert asked
        before = [step for step in stage.gate.trace if "before letter" in step]
        kept = [step for step in stage.gate.trace if step == "canceller: cancel"]
        if kept and before and asked == [0]:
            cancel_at = stage.gate.trace.index("canceller: cancel")
            intent_at = stage.gate.trace.index("driver: append", 0)
            intent_at = _second(stage.gate.trace, "driver: append", intent_at)
            assert intent_at < cancel_at, "a call was made after the cancel"
        await stage.verified()
    return played


def _second(trace: Sequence[str], step: str, after: int) -> int:
    return next((at for at in range(after + 1, len(trace)) if trace[at] == step), len(trace))


async def two_verdicts(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """One person approves a call, another denies it."""
    stage = Stage(make_store)
    rule = ApprovalRule(effects=("write",))
    driver, yes, no, sweeper = (stage.runtime(rule) for _ in range(4))
    parked = await driver.run(approving)
    assert isinstance(parked, Parked)
    run_id, park = parked.run_id, parked.park_seq
    played = await stage.play(
        schedule,
        yes=lambda: yes.approve(run_id, True, park=park),
        no=lambda: no.approve(run_id, False, park=park),
        sweeper=lambda: sweeper.wake(run_id, approving),
    )
    with told(stage.gate):
        await stage.to_the_end(run_id, approving)
        [resumed] = [e for e in await stage.log(run_id) if isinstance(e, Resumed)]
        assert isinstance(resumed.input, dict)
        assert len(stage.ledger) == int(resumed.input["approved"] is True)
        await stage.verified()
    return played


async def key_across_a_park(make_store: MakeStore, schedule: Sequence[str]) -> Played:
    """A tool parks with its key held; another run wants it; somebody answers, somebody abandons."""
    stage = Stage(make_store)
    driver, other, person, gone = (stage.runtime() for _ in range(4))
    parked = await driver.run(asking)
    run_id, second = parked.run_id, other.new_run_id()
    played = await stage.play(
        schedule,
        other=lambda: other.start(asking, run_id=second),
        person=lambda: person.answer(run_id, "2A"),
        gone=lambda: gone.abandon(run_id, happened="unknown"),
    )
    with told(stage.gate):
        first_end = await stage.to_the_end(run_id, asking)
        second_end = await stage.to_the_end(second, asking)
        assert stage.ledger == ["seat"], "the seat was booked twice"
        [claim] = await stage.store.claims()
        answered = any(isinstance(e, Resumed) for e in await stage.log(run_id))
        assert claim.state == ("committed" if answered else "failed")
        assert isinstance(second_end, Completed) is answered, (first_end, second_end)
        await stage.verified()
    return played


WORLDS = (
    two_drivers,
    two_drivers_put,
    two_at_once,
    forced_out,
    two_runs_one_key,
    signal_and_park,
    answer_deadline_cancel,
    late_answer,
    cancel_and_write,
    two_verdicts,
    key_across_a_park,
    *SESSION_WORLDS,
)
