"""What people say that no log can hold is refused in a sentence, and nothing is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from salvor.errors import JsonRefused
from salvor.runtime.outcome import Completed, OpenWrite, Parked
from salvor.runtime.resolve import ResolvedFailure, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime, MakeStore

pytestmark = pytest.mark.anyio

HALF = "half\udcaf"


@tool(effect="write", idempotency_key="key")
def crash(key: str) -> str:
    """Leave it open what happened."""
    raise RuntimeError("gone")


@workflow
async def asking(run: Run) -> str:
    return await run.suspend("Which?", str)


@workflow
async def crashing(run: Run) -> str:
    return await run.call(crash, "a")


PARKED: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("answer", ("red",), {"by": HALF}),
    ("answer", (HALF,), {}),
    ("approve", (True,), {"by": HALF}),
    ("approve", (True,), {"note": HALF}),
    ("signal", (HALF,), {}),
    ("signal", ("go", HALF), {}),
    ("signal", ("go", float("nan")), {}),
    ("signal", ("go",), {"by": HALF}),
    ("signal", ("go",), {"sender_id": HALF}),
    ("cancel", (), {"by": HALF}),
    ("cancel", (), {"reason": HALF}),
    ("abandon", (), {"by": HALF}),
    ("abandon", (), {"reason": HALF}),
]


@pytest.mark.parametrize(("verb", "args", "words"), PARKED)
async def test_a_verb_refuses_words_that_no_log_can_hold(
    runtime: Runtime, verb: str, args: tuple[Any, ...], words: dict[str, Any]
) -> None:
    parked = await runtime.run(asking)
    before = await runtime.history(parked.run_id)

    with pytest.raises(JsonRefused, match=r"half a surrogate pair|nan is not a JSON number"):
        await getattr(runtime, verb)(parked.run_id, *args, **words)

    assert isinstance(parked, Parked)
    assert (await runtime.history(parked.run_id)).texts == before.texts
    await runtime.answer(parked.run_id, "red", by="ada")
    assert isinstance(await runtime.resume(parked.run_id, asking), Completed)


OPEN: list[tuple[Any, dict[str, Any]]] = [
    (ResolvedOutput(output="paid"), {"by": HALF}),
    (ResolvedOutput(output=HALF), {}),
    (ResolvedFailure(message=HALF, extent="yes"), {}),
]


@pytest.mark.parametrize(("resolution", "words"), OPEN)
async def test_a_resolution_that_no_log_can_hold_is_refused(
    runtime: Runtime, resolution: Any, words: dict[str, Any]
) -> None:
    left = await runtime.run(crashing)

    with pytest.raises(JsonRefused, match="half a surrogate pair"):
        await runtime.resolve(left.run_id, resolution, tool=runtime.registry.get("crash"), **words)

    assert isinstance(left, OpenWrite)
    await runtime.resolve(left.run_id, ResolvedOutput(output="paid"))
    assert isinstance(await runtime.resume(left.run_id, crashing), Completed)


@pytest.mark.parametrize("said", ["reason", "by", "evidence"])
async def test_a_claim_is_not_settled_with_words_that_no_log_can_hold(
    runtime: Runtime, said: str
) -> None:
    await runtime.run(crashing)
    (claim,) = await runtime.claims.list()
    words = {"reason": "it is in the ledger", "by": "ada", "evidence": "page 4"}

    with pytest.raises(JsonRefused, match="half a surrogate pair"):
        await runtime.claims.settle(claim.id, ResolvedOutput("paid"), **{**words, said: HALF})

    assert (await runtime.claims.show(claim.id)).state == "held"
    settled = await runtime.claims.settle(claim.id, ResolvedOutput("paid"), **words)
    assert settled.state == "committed"


NO_TEXT: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("answer", ("red",), {"by": 5}),
    ("approve", (True,), {"note": ["no"]}),
    ("signal", ("go",), {"sender_id": 7}),
    ("cancel", (), {"reason": 5}),
    ("abandon", (), {"by": True}),
]


@pytest.mark.parametrize(("verb", "args", "words"), NO_TEXT)
async def test_a_word_that_is_no_text_is_refused_and_spoils_no_log(
    runtime: Runtime, verb: str, args: tuple[Any, ...], words: dict[str, Any]
) -> None:
    parked = await runtime.run(asking)

    with pytest.raises(JsonRefused, match="has to be text, got"):
        await getattr(runtime, verb)(parked.run_id, *args, **words)
    assert (await runtime.state(parked.run_id)).status == "suspended"
    assert await runtime.inbox(parked.run_id) == []


@pytest.mark.parametrize("verb", ["resolve", "settle", "overrule", "abandon"])
async def test_a1_what_a_call_did_is_one_of_three_words(runtime: Runtime, verb: str) -> None:
    left = await runtime.run(crashing)
    (claim,) = await runtime.claims.list()
    if verb == "overrule":
        await runtime.resolve(left.run_id, ResolvedFailure("unknown"))
        (claim,) = await runtime.claims.list()
    maybe: Any = "maybe"
    failure = ResolvedFailure(maybe)
    said = {
        "resolve": lambda: runtime.resolve(left.run_id, failure),
        "abandon": lambda: runtime.abandon(left.run_id, happened=maybe),
    }.get(verb, lambda: runtime.claims.settle(claim.id, failure, reason="x", by="ada"))

    with pytest.raises(JsonRefused, match="one of no, yes, unknown, got 'maybe'"):
        await said()
    assert (await runtime.claims.show(claim.id)) == claim
    assert (await runtime.state(left.run_id)).next_seq == (3 if verb == "overrule" else 2)


ANY: list[tuple[str, tuple[Any, ...]]] = [
    ("answer", (True,)),
    ("approve", (True,)),
    ("signal", ("go",)),
    ("cancel", ()),
    ("wake", ()),
    ("resume", (asking,)),
    ("resolve", (ResolvedFailure("no"),)),
    ("abandon", ()),
    ("state", ()),
    ("parked", ()),
    ("history", ()),
    ("inbox", ()),
]


@pytest.mark.parametrize(("verb", "args"), ANY)
@pytest.mark.parametrize("odd", [None, 5, "nonsense"])
async def test_what_is_no_run_id_is_refused_by_every_verb(
    runtime: Runtime, verb: str, args: tuple[Any, ...], odd: Any
) -> None:
    with pytest.raises(JsonRefused, match="a run id has to be a UUID, got"):
        await getattr(runtime, verb)(odd, *args)


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, "7", None])
async def test_a_page_has_a_size(
    make_runtime: MakeRuntime, make_store: MakeStore, limit: Any
) -> None:
    clock = FakeClock()
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        verbs = (runtime.list, runtime.wake_due, runtime.claims.list, runtime.claims.log)
        for verb in verbs:
            with pytest.raises(ValueError, match="a whole number from 1 on"):
                await verb(limit=limit)


HUGE = 10**5000


async def test_an_integer_that_nobody_could_read_back_is_refused(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    left = await runtime.run(crashing)
    refused: list[Any] = [
        lambda: runtime.answer(parked.run_id, HUGE),
        lambda: runtime.resume(parked.run_id, asking, answer=HUGE),
        lambda: runtime.signal(parked.run_id, "go", HUGE),
        lambda: runtime.resolve(left.run_id, ResolvedOutput(HUGE)),
        lambda: runtime.start(asking, {"number": HUGE}),
    ]
    for verb in refused:
        with pytest.raises(JsonRefused, match="at most 4,300 digits"):
            await verb()
    assert (await runtime.state(parked.run_id)).status == "suspended"
