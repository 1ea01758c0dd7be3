import pytest

from salvor.errors import Extent
from salvor.events.vocabulary import EffectName
from salvor.runtime.policy import Again, Decision, Fail, Fault, Open, decide, worst
from salvor.tools.contract import Retry


def _decide(
    effect: EffectName,
    extent: Extent,
    *,
    before: Extent = "no",
    executions: int = 1,
    jitter: float = 0.5,
    retry: Retry | None = None,
    final: bool = False,
    answer: bool = False,
    retry_after: float | None = None,
) -> Decision:
    fault = Fault(message="x", extent=extent, final=final, answer=answer, retry_after=retry_after)
    return decide(
        effect,
        fault,
        before=before,
        executions=executions,
        retry=retry or Retry(attempts=3, backoff=0.5),
        jitter=jitter,
    )


@pytest.mark.parametrize(
    ("effect", "extent", "final", "executions", "follows"),
    [
        ("read", "no", False, 1, Again),
        ("read", "no", True, 1, Fail("no")),
        ("read", "no", False, 3, Fail("no")),
        ("read", "unknown", False, 1, Again),
        ("read", "unknown", False, 3, Fail("no")),
        ("read", "yes", False, 1, Fail("no")),
        ("idempotent", "no", False, 1, Again),
        ("idempotent", "no", True, 1, Fail("no")),
        ("idempotent", "no", False, 3, Fail("no")),
        ("idempotent", "unknown", False, 1, Again),
        ("idempotent", "unknown", False, 3, Fail("unknown")),
        ("idempotent", "unknown", True, 1, Fail("unknown")),
        ("idempotent", "yes", False, 1, Fail("yes")),
        ("write", "no", False, 1, Again),
        ("write", "no", True, 1, Fail("no")),
        ("write", "no", False, 3, Fail("no")),
        ("write", "unknown", False, 1, Open()),
        ("write", "unknown", True, 1, Open()),
        ("write", "unknown", False, 3, Open()),
        ("write", "yes", False, 1, Fail("yes")),
    ],
)
def test_a3_what_follows_a_failed_execution(
    effect: EffectName, extent: Extent, final: bool, executions: int, follows: object
) -> None:
    decision = _decide(effect, extent, final=final, executions=executions)

    if follows is Again:
        assert isinstance(decision, Again)
    else:
        assert decision == follows


def test_a1_the_extent_of_a_call_is_the_worst_of_its_executions() -> None:
    assert _decide("idempotent", "no", final=True, before="unknown") == Fail("unknown")
    assert _decide("idempotent", "yes", before="unknown") == Fail("yes")
    assert _decide("write", "no", final=True, before="unknown") == Open()
    assert worst("no", "unknown") == worst("unknown", "no") == "unknown"


def test_a4_an_exception_declared_an_answer_ends_the_call_at_once() -> None:
    assert _decide("write", "unknown", answer=True) == Fail("unknown")


def test_a5_backoff_doubles_with_full_jitter_and_is_capped() -> None:
    retry = Retry(attempts=20, backoff=0.5)
    for executions, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (12, 30.0)):
        assert _decide("read", "no", executions=executions, jitter=1.0, retry=retry) == Again(
            longest
        )
        assert _decide("read", "no", executions=executions, jitter=0.0, retry=retry) == Again(0.0)


def test_a5_retry_after_is_honoured_up_to_a_minute() -> None:
    assert _decide("read", "no", retry_after=7.0) == Again(7.0)
    assert _decide("read", "no", retry_after=3600.0) == Again(60.0)
    assert _decide("read", "no", retry_after=-1.0) == Again(0.0)
