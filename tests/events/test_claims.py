from dataclasses import replace

import pytest

from salvor.events.claims import Claim, ClaimId, TakeClaim, judge, may_take

ID = ClaimId(namespace="default", scope="native/pay", key='{"id":1}')
WANTED = TakeClaim(id=ID, effect="write", run_id="me", intent_seq=3, input_hash="sha256:in")
HELD = Claim(
    id=ID,
    state="held",
    effect="write",
    run_id="other",
    intent_seq=1,
    input_hash="sha256:in",
    generation=1,
)


def test_a_key_nobody_has_or_that_was_released_may_be_taken() -> None:
    assert may_take(None, WANTED)
    assert may_take(replace(HELD, state="released"), WANTED)
    assert may_take(replace(HELD, state="released", input_hash="sha256:else"), WANTED)


@pytest.mark.parametrize("state", ["held", "committed"])
def test_a_held_or_committed_key_may_not_be_taken(state: str) -> None:
    assert not may_take(replace(HELD, state=state), WANTED)  # type: ignore[arg-type]


@pytest.mark.parametrize("extent", ["yes", "unknown", "no"])
def test_a_failed_write_waits_for_an_operator(extent: str) -> None:
    failed = replace(HELD, state="failed", extent=extent)  # type: ignore[arg-type]

    assert not may_take(failed, WANTED)


def test_a_failed_idempotent_call_may_be_taken_with_the_same_input_if_it_is_unknown() -> None:
    wanted = replace(WANTED, effect="idempotent")
    failed = replace(HELD, state="failed", extent="unknown", effect="idempotent")

    assert may_take(failed, wanted)
    assert not may_take(replace(failed, extent="yes"), wanted)
    assert not may_take(replace(failed, input_hash="sha256:else"), wanted)
    assert not may_take(replace(failed, effect="write"), wanted)
    assert not may_take(failed, WANTED)


def test_a_refused_taking_is_judged_by_state_and_input() -> None:
    assert judge(HELD, WANTED) == "busy"
    assert judge(replace(HELD, input_hash="sha256:else"), WANTED) == "busy"
    assert judge(replace(HELD, state="committed"), WANTED) == "copy"
    assert judge(replace(HELD, state="failed"), WANTED) == "failed"
    for state in ("committed", "failed"):
        other = replace(HELD, state=state, input_hash="sha256:else")
        assert judge(other, WANTED) == "collision"
