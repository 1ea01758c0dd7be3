from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from salvor.clock import SystemClock
from salvor.events.records import Settlement
from salvor.events.vocabulary import Resumed, RunAbandoned
from salvor.run_errors import AnswerConflict, AnswerRefused, WrongState
from salvor.runtime.outcome import Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Conflict, Divergence
from salvor.stores.memory import MemoryStore
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio


class Approval(BaseModel):
    approved: bool
    note: str = ""


@workflow
async def asking(run: Run) -> str:
    answer = await run.suspend("Pay?", Approval)
    second = await run.suspend("Sure?", bool)
    return f"{answer.approved} {answer.note} {second}"


async def test_a_run_parks_and_goes_on_with_the_answer(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    assert isinstance(parked, Parked)
    assert (parked.reason, parked.park_seq) == ("Pay?", 1)
    assert isinstance(parked.schema, dict)
    assert "approved" in parked.schema["properties"]  # type: ignore[operator]

    second = await runtime.resume(parked.run_id, asking, answer={"approved": True, "note": "n"})
    assert isinstance(second, Parked)
    assert (second.reason, second.park_seq) == ("Sure?", 3)

    done = await runtime.resume(parked.run_id, asking, answer=False)
    assert isinstance(done, Completed)
    assert done.output == "True n False"


async def test_a_parked_run_resumed_without_an_answer_is_parked_and_unchanged(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(asking)

    assert await runtime.resume(parked.run_id, asking) == parked
    assert len((await runtime.history(parked.run_id)).envelopes) == 2


async def test_d1_an_answer_that_does_not_fit_is_refused_with_all_violations(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(asking)

    with pytest.raises(AnswerRefused) as caught:
        await runtime.resume(parked.run_id, asking, answer={"approved": "yes", "note": 3})

    assert {p.pointer for p in caught.value.problems} == {"/approved", "/note"}
    assert (await runtime.state(parked.run_id)).status == "suspended"


@pytest.mark.parametrize("answer", [None, 1, "true", {}, [True]])
async def test_anything_that_is_not_a_boolean_does_not_answer_a_yes_or_no(
    runtime: Runtime, answer: object
) -> None:
    @workflow
    async def yes_or_no(run: Run) -> bool:
        return await run.suspend("?", bool)

    parked = await runtime.run(yes_or_no)
    with pytest.raises(AnswerRefused):
        await runtime.resume(parked.run_id, yes_or_no, answer=answer)  # type: ignore[arg-type]


async def test_d1_the_answer_names_the_park_it_is_for(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    await runtime.resume(parked.run_id, asking, answer={"approved": True})

    event = (await runtime.history(parked.run_id)).envelopes[2].event
    assert isinstance(event, Resumed)
    assert event.answers == 1


async def test_d1_the_second_answer_to_one_park_is_refused(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    seen = await runtime._operator.look(parked.run_id)
    assert seen.state.park is not None
    await runtime._waking.answered(seen, seen.state.park, {"approved": True})

    with pytest.raises((AnswerConflict, Conflict)):
        await runtime._waking.answered(seen, seen.state.park, {"approved": False})
    assert len((await runtime.history(parked.run_id)).envelopes) == 3


@workflow
async def asking_twice(run: Run) -> list[str]:
    return [await run.suspend("first?", str), await run.suspend("second?", str)]


@pytest.mark.parametrize("stands", ["due", "at the next question", "ended"])
async def test_d1_who_answers_second_is_told_so_wherever_the_run_stands_by_then(
    runtime: Runtime, stands: str
) -> None:
    parked = await runtime.run(asking_twice)
    await runtime.answer(parked.run_id, "ada's", park=1)
    if stands != "due":
        await runtime.resume(parked.run_id, asking_twice)
    if stands == "ended":
        await runtime.resume(parked.run_id, asking_twice, answer="second")

    with pytest.raises(AnswerConflict, match="event 1"):
        await runtime.answer(parked.run_id, "eve's", park=1)


async def test_d1_who_is_beaten_while_the_answer_is_written_is_told_so(
    make_runtime: MakeRuntime,
) -> None:
    class Racing(MemoryStore):
        first: Settlement | None = None

        async def settle(self, settlement: Settlement) -> None:
            if self.first is None:
                self.first = settlement
                await other.answer(settlement.run_id, "eve's", park=1)
            await super().settle(settlement)

    store = Racing(clock=SystemClock())
    runtime, other = make_runtime(store), make_runtime(store)
    parked = await runtime.run(asking_twice)

    with pytest.raises(AnswerConflict):
        await runtime.answer(parked.run_id, "ada's", park=1)
    event = (await runtime.history(parked.run_id)).envelopes[2].event
    assert isinstance(event, Resumed)
    assert event.input == "eve's"


async def test_an_answer_to_a_run_that_waits_for_none_is_refused(runtime: Runtime) -> None:
    @workflow
    async def plain(run: Run) -> int:
        return 1

    done = await runtime.run(plain)
    with pytest.raises(WrongState, match="completed"):
        await runtime.resume(done.run_id, plain, answer=1)


async def test_a_question_that_changed_is_a_divergence(runtime: Runtime) -> None:
    def flow(reason: str, answer: type) -> Any:
        @workflow(name="flow")
        async def asking(run: Run) -> str:
            return str(await run.suspend(reason, answer))

        return asking

    parked = await runtime.run(flow("a?", bool))
    with pytest.raises(Divergence, match="reason"):
        await runtime.resume(parked.run_id, flow("b?", bool))
    with pytest.raises(Divergence, match="input_schema"):
        await runtime.resume(parked.run_id, flow("a?", int))


class Even(BaseModel):
    n: int

    @field_validator("n")
    @classmethod
    def check(cls, n: int) -> int:
        if n % 2:
            raise ValueError("it is odd")
        return n


@pytest.mark.parametrize(
    ("asked", "bad", "good"), [(int, 3.0, 3), (Even, {"n": 1}, {"n": 2}), (bytes, "?", "AA==")]
)
async def test_d1_an_answer_the_workflow_could_not_read_is_refused_before_it_is_recorded(
    runtime: Runtime, asked: Any, bad: Any, good: Any
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        await run.now()
        return str(await run.suspend("?", asked))

    parked = await runtime.run(flow)
    with pytest.raises(AnswerRefused):
        await runtime.resume(parked.run_id, flow, answer=bad)
    assert (await runtime.state(parked.run_id)).status == "suspended"

    assert isinstance(await runtime.resume(parked.run_id, flow, answer=good), Completed)


async def test_an_answer_given_with_another_workflow_is_not_recorded(runtime: Runtime) -> None:
    @workflow
    async def other(run: Run) -> bool:
        return await run.suspend("?", bool)

    parked = await runtime.run(asking)
    with pytest.raises(Divergence):
        await runtime.resume(parked.run_id, other, answer={"approved": True})

    assert (await runtime.state(parked.run_id)).status == "suspended"


async def test_d1_an_answer_is_given_once_whatever_else_is_written(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    assert isinstance(parked, Parked)
    await runtime.answer(parked.run_id, {"approved": True}, workflow=asking)
    look = await runtime._operator.look(parked.run_id)

    with pytest.raises(AnswerConflict):
        await runtime._waking.settle(look, RunAbandoned(), answers=parked.park_seq)
    assert (await runtime.state(parked.run_id)).status == "running"
