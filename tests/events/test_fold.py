import pytest

from salvor.events.fold import fold
from salvor.events.vocabulary import RunFailed, Suspended
from tests.support.logs import FULL, STARTED, done, intent, log

STATUS_AFTER_EACH_EVENT = [
    "not-started",
    "running",
    "running",
    "awaiting-tool",
    "running",
    "suspended",
    "running",
    "needs-reconciliation",
    "running",
    "needs-reconciliation",
    "running",
    "running",
    "completed",
]


@pytest.mark.parametrize("length", range(len(FULL) + 1))
def test_every_prefix_of_a_log_has_a_status(length: int) -> None:
    state = fold(FULL[:length])

    assert state.status == STATUS_AFTER_EACH_EVENT[length]
    assert state.next_seq == length


def test_a_park_is_shown_while_the_run_is_suspended_and_gone_afterwards() -> None:
    parked = fold(FULL[:5]).park

    assert parked is not None
    assert (parked.seq, parked.reason, parked.input_schema) == (4, "ok?", {"type": "boolean"})
    assert fold(FULL[:6]).park is None


def test_the_open_intent_is_pending_until_its_completion() -> None:
    pending = fold(FULL[:7]).pending

    assert pending is not None
    assert pending.tool == "pay"
    assert fold(FULL[:8]).pending is None


def test_an_open_idempotent_call_awaits_its_tool() -> None:
    assert fold(log(STARTED, intent(1, "idempotent"))).status == "awaiting-tool"


def test_the_ends_carry_output_and_error() -> None:
    assert fold(FULL).output == "end"
    failed = fold(log(STARTED, intent(1), done(1), RunFailed(error="broke")))
    assert (failed.status, failed.error) == ("failed", "broke")


def test_a_run_that_fails_at_a_park_is_not_suspended_any_more() -> None:
    parked = Suspended(reason="?", input_schema={})
    assert fold(log(STARTED, parked, RunFailed(error="x"))).park is None
