"""`assert_replays`: today's code against a recorded run, and nothing is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.registry.registry import Registry
from salvor.runtime.caller import spec
from salvor.runtime.outcome import Completed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.replays import assert_replays, assert_replays_async, save_log
from salvor.tools.decorator import tool

CALLS: list[str] = []


@tool(effect="read")
def look(claim: str) -> str:
    """Look."""
    CALLS.append(f"look {claim}")
    return claim


@tool(effect="write")
def pay(claim: str) -> str:
    """Pay."""
    CALLS.append(f"pay {claim}")
    return "paid"


@workflow
async def settle(run: Run, claim: str) -> str:
    await run.call(look, claim)
    await run.now()
    if not await run.suspend("Pay?", bool):
        return "refused"
    return await run.call(pay, claim)


@workflow(name="settle")
async def settle_in_another_order(run: Run, claim: str) -> str:
    await run.call(look, claim)
    if not await run.suspend("Pay?", bool):
        return "refused"
    return await run.call(pay, claim)


@workflow(name="settle")
async def settle_with_another_end(run: Run, claim: str) -> str:
    await settle(run, claim)
    return "settled"


@workflow(name="settle")
async def settle_and_look(run: Run, claim: str) -> str:
    paid = await settle(run, claim)
    await run.gather(spec(look, "again"), spec(look, "and again"))
    return paid


@workflow(name="settle")
async def settle_half(run: Run, claim: str) -> str:
    await run.call(look, claim)
    return "paid"


@workflow(name="settle")
async def settle_badly(run: Run, claim: str) -> str:
    await run.call(look, claim)
    raise RuntimeError("a fault of the code")


@workflow(version="2", name="settle")
async def settle_anew(run: Run, claim: str) -> str:
    return await settle(run, claim)


@pytest.fixture
def calls() -> list[str]:
    CALLS.clear()
    return CALLS


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one run, that was answered and has ended."""
    return recorded(tmp_path / "salvor.db", answered=True)


def recorded(path: Path, *, answered: bool) -> Path:
    async def record() -> None:
        async with open_runtime(str(path), plugins=False) as runtime:
            parked = await runtime.run(settle, "c-1")
            if answered:
                done = await runtime.resume(parked.run_id, settle, answer=True)
                assert isinstance(done, Completed)

    anyio.run(record)
    return path


def said(workflow: Any, log: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_replays(workflow, log)
    return str(caught.value)


def test_the_code_that_wrote_a_log_replays_it_and_calls_nothing(
    store: Path, calls: list[str]
) -> None:
    calls.clear()
    assert_replays(settle, store)

    assert calls == []


def test_a_step_less_is_a_divergence_with_place_and_both_sides(store: Path) -> None:
    text = said(settle_in_another_order, store)

    assert "the recorded run does not replay" in text
    assert "event 3" in text
    assert "recorded is NowObserved, the code asks for a park for 'Pay?'" in text
    assert '1 ToolCallRequested look (read) {"claim":"c-1"}' in text


def test_another_output_is_a_divergence(store: Path) -> None:
    text = said(settle_with_another_end, store)

    assert 'recorded is RunCompleted "paid", the code asks for RunCompleted "settled".' in text


def test_an_end_too_early_is_a_divergence(store: Path) -> None:
    assert "recorded is NowObserved, the code asks for the end of the run" in said(
        settle_half, store
    )


def test_a_step_more_is_a_divergence_and_is_not_made(store: Path, calls: list[str]) -> None:
    calls.clear()
    text = said(settle_and_look, store)

    assert 'recorded is RunCompleted "paid", the code asks for ToolCallRequested look' in text
    assert calls == []


def test_a_fault_of_the_code_is_told(store: Path) -> None:
    assert "the workflow raised RuntimeError: a fault of the code" in said(settle_badly, store)


def test_another_version_is_a_divergence(store: Path) -> None:
    assert "settle version 2" in said(settle_anew, store)


def test_a_run_that_has_not_ended_replays_as_far_as_it_got(tmp_path: Path) -> None:
    parked = recorded(tmp_path / "salvor.db", answered=False)

    assert_replays(settle, parked)
    assert "NowObserved" in said(settle_in_another_order, parked)


def test_a_saved_log_replays_without_its_store(store: Path, tmp_path: Path) -> None:
    saved = tmp_path / "settle.jsonl"
    anyio.run(save_log, store, saved)

    assert len(saved.read_text().splitlines()) == 9
    assert_replays(settle, saved)
    assert "NowObserved" in said(settle_in_another_order, saved)


def test_a_log_that_is_empty_is_no_run(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")

    assert said(settle, empty) == "the log is empty."


def test_which_run_is_asked_where_there_are_several(store: Path) -> None:
    recorded(store, answered=False)

    assert said(settle, store) == "the store holds several runs: say which, run_id=..."


@pytest.mark.anyio
async def test_the_run_of_a_runtime_replays(runtime: Runtime, calls: list[str]) -> None:
    parked = await runtime.run(settle, "c-1")
    await assert_replays_async(settle, runtime)
    await runtime.resume(parked.run_id, settle, answer=True)
    await assert_replays_async(settle, runtime, parked.run_id)
    with pytest.raises(AssertionError, match="NowObserved"):
        await assert_replays_async(settle_in_another_order, runtime, registry=Registry())

    assert calls == ["look c-1", "pay c-1"]


@pytest.mark.anyio
async def test_an_open_call_is_not_made_again(tmp_path: Path, calls: list[str]) -> None:
    async with open_runtime("memory:", plugins=False) as runtime:
        await runtime.run(settle, "c-1")
        await save_log(runtime, tmp_path / "log.jsonl")
    log = tmp_path / "log.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:2]))
    calls.clear()
    await assert_replays_async(settle, log)

    assert calls == []


@pytest.mark.anyio
async def test_an_operators_end_is_no_step(runtime: Runtime) -> None:
    parked = await runtime.run(settle, "c-1")
    await runtime.abandon(parked.run_id, reason="no more")

    await assert_replays_async(settle, runtime)
