from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from salvor.errors import JsonRefused, ToolFailed, ToolFailure
from salvor.registry.registry import Registry
from salvor.run_errors import RunError
from salvor.testing.authors import call, call_async, context
from salvor.tools.context import INJECTED, Context, activate
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.injection import Depends


class Receipt(BaseModel):
    order: int
    amount: float


@tool(effect="idempotent", idempotency_key="order")
def charge(order: int, amount: float = 1.0) -> Receipt:
    """Charge an order."""
    return Receipt(order=order, amount=amount)


def test_a_call_gives_the_output_as_its_declared_type() -> None:
    assert call(charge, {"order": 7}) == Receipt(order=7, amount=1.0)


def test_arguments_may_be_the_text_that_a_model_sent_and_are_repaired() -> None:
    assert call(charge, '{"order": "7"}').order == 7


@pytest.mark.parametrize("text", ['{"order": 1, "order": 2}', '{"order": NaN}', "[7]", "{"])
def test_text_that_is_no_json_object_is_refused_before_anything(text: str) -> None:
    with pytest.raises(JsonRefused):
        call(charge, text)


def test_arguments_that_do_not_fit_fail_the_call_as_they_would_in_a_run() -> None:
    with pytest.raises(ToolFailed, match="/order") as caught:
        call(charge, {"order": True, "colour": "red"})

    assert "/colour" in str(caught.value)
    assert (caught.value.kind, caught.value.extent) == ("invalid_input", "no")
    assert caught.value.attempts == 0


def test_a_tool_of_a_registry_is_called_by_its_name_there() -> None:
    registry = Registry()
    (found,) = registry.add(charge, prefix="desk_")

    with pytest.raises(ToolFailed, match=r"^desk_charge: "):
        call(found, {})
    assert call(found, {"order": 1}).order == 1


async def _double(value: int) -> int:
    """Double a number."""
    return 2 * value


double = tool(effect="read")(_double)


def test_an_async_tool_is_called_like_any_other() -> None:
    assert call(double, {"value": 4}) == 8


@pytest.mark.anyio
async def test_an_async_test_awaits_the_call_and_is_told_so() -> None:
    assert await call_async(double, {"value": 4}) == 8
    with pytest.raises(RunError, match="await call_async"):
        call(double, {"value": 4})


def test_retries_happen_and_nothing_waits_for_them() -> None:
    tried: list[int] = []

    @tool(effect="read", retry=Retry(attempts=4, backoff=3600))
    def look(ctx: Context) -> int:
        """Look."""
        tried.append(ctx.attempt)
        raise ToolFailure("busy", happened=False, retry_after=3600)

    with pytest.raises(ToolFailed, match="busy") as caught:
        call(look)

    assert tried == [1, 2, 3, 4]
    assert (caught.value.kind, caught.value.attempts) == ("handler", 4)


def test_a_write_that_may_have_happened_says_that_a_run_would_stop() -> None:
    @tool(effect="write")
    def send() -> None:
        """Send."""
        raise RuntimeError("line cut")

    with pytest.raises(ToolFailed, match=r"line cut.*a run stops here") as caught:
        call(send)

    assert (caught.value.kind, caught.value.extent) == ("open_write", "unknown")


def test_output_of_another_type_fails_the_call() -> None:
    @tool(effect="write")
    def send() -> int:
        """Send."""
        return "sent"  # type: ignore[return-value]

    with pytest.raises(ToolFailed) as caught:
        call(send)

    assert caught.value.extent == "yes"


def test_dependencies_are_opened_and_closed() -> None:
    said: list[str] = []

    def ledger():  # type: ignore[no-untyped-def]
        said.append("open")
        yield said
        said.append("closed")

    @tool(effect="write")
    def note(text: str, book: list[str] = Depends(ledger)) -> None:
        """Note."""
        book.append(text)

    assert call(note, {"text": "hail"}) is None
    assert said == ["open", "hail", "closed"]


@tool(effect="write", idempotency_key="order")
def keyed(order: str, *, ctx: Context = INJECTED) -> str | None:
    """Show the key."""
    ctx.progress(1, 2, "half")
    return ctx.idempotency_key


def test_a_context_carries_the_key_to_a_direct_call() -> None:
    assert keyed("A", ctx=context(key="k-1")) == "k-1"
    assert keyed("A", ctx=context()) is None


def test_the_pipeline_gives_the_key_that_is_declared() -> None:
    assert call(keyed, {"order": "A"}) == '{"order":"A"}'


def test_a_context_shows_what_it_is_told_to() -> None:
    said: list[tuple[float, float | None, str | None]] = []
    until = datetime(2026, 7, 9, tzinfo=UTC)
    shown = context(
        attempt=2, deadline=until, cancelled=True, report=lambda *told: said.append(told)
    )
    keyed("A", ctx=shown)

    assert (shown.attempt, shown.deadline, shown.cancelled) == (2, until, True)
    assert said == [(1, 2, "half")]
    assert not context().cancelled
    with activate(shown):
        assert Context.current() is shown
