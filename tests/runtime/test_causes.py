"""What an exception says, as a log and a message may carry it."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from salvor.errors import ToolFailure
from salvor.runtime.causes import MAX_SAID, causes, kept
from salvor.runtime.outcome import Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.injection import Depends

CANARY = "canary-f3a1c9"


class Account(BaseModel):
    token: Annotated[str, Field(max_length=3)]
    pin: int
    words: list[int] = []

    @field_validator("pin")
    @classmethod
    def check(cls, pin: int) -> int:
        if pin < 1000:
            raise ValueError("has too few digits")
        return pin


def faulty() -> Account:
    return Account.model_validate({"token": CANARY, "pin": 5, "words": [1, CANARY], CANARY: 1})


def test_what_a_model_refuses_is_told_by_its_places_and_without_its_values() -> None:
    with pytest.raises(ValidationError) as caught:
        faulty()

    assert causes(caught.value) == (
        "ValidationError: Account: token: String should have at most 3 characters; "
        "pin: Value error, has too few digits; "
        "words/1: Input should be a valid integer, unable to parse string as an integer"
    )


def test_a_model_refused_as_a_whole_says_so() -> None:
    with pytest.raises(ValidationError) as caught:
        Account.model_validate(CANARY)

    assert "it: Input should be a valid dictionary" in causes(caught.value)
    assert CANARY not in causes(caught.value)


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["dependency", "body", "cause", "group", "workflow"])
async def test_what_a_model_refuses_is_in_no_log(runtime: Runtime, where: str) -> None:
    def account() -> Account | None:
        return faulty() if where == "dependency" else None

    @tool(effect="read", retry=Retry(attempts=1))
    def look(account: Account | None = Depends(account)) -> None:
        """Look."""
        try:
            faulty()
        except ValidationError as error:
            if where == "cause":
                raise RuntimeError("lost") from error
            if where == "group":
                raise ExceptionGroup("two", [error, OSError("x")]) from None
            raise

    @workflow
    async def flow(run: Run) -> None:
        if where == "workflow":
            faulty()
        await run.call(look)

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert "at most 3 characters" in result.error
    assert CANARY not in result.error
    page = await runtime.store.read(result.run_id)
    assert CANARY not in "".join(row.envelope for row in page.rows)


def test_a_text_without_end_is_cut_and_says_how_long_it_was() -> None:
    said = causes(RuntimeError("x" * 10_000_000))

    assert len(said) < MAX_SAID + 100
    assert said.endswith("(the first 16,384 of 10,000,014 characters)")
    assert kept("x" * MAX_SAID) == "x" * MAX_SAID


@pytest.mark.anyio
@pytest.mark.parametrize("error", [ToolFailure, RuntimeError])
async def test_a_failure_is_cut_alike_in_the_log_and_for_the_caller(
    runtime: Runtime, error: type[Exception]
) -> None:
    @tool(effect="read", retry=Retry(attempts=1))
    def look() -> None:
        """Look."""
        raise error("x" * 10_000_000)

    runtime.registry.add(look)
    result = await runtime.call_tool(runtime.registry.get("look"), {})

    assert isinstance(result, Failed)
    assert "characters)" in result.error
    page = await runtime.store.read(result.run_id)
    assert sum(len(row.envelope) for row in page.rows) < 10 * MAX_SAID


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_whose_text_fails_goes_by_its_name() -> None:
    assert causes(Mute()) == "Mute"


def test_groups_in_groups_without_end_are_told_as_far_as_they_can_be() -> None:
    error: Exception = OSError("disk")
    for _ in range(5_000):
        error = ExceptionGroup("more", [error])

    assert causes(error).startswith("ExceptionGroup: more (1 sub-exception): ExceptionGroup")
