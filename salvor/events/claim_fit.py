"""Whether a claim is what the log of its holder says (DURABILITY E2)."""

from __future__ import annotations

from collections.abc import Mapping

from salvor.errors import JsonRefused
from salvor.events.claims import Claim
from salvor.events.fold import RunState
from salvor.events.outputs import output_at
from salvor.events.vocabulary import Event, ToolCallCompleted, ToolCallRequested
from salvor.values import MAX_OUTPUT_BYTES, content_hash, parse_json


def misfit(
    claim: Claim, events: Mapping[int, Event], state: RunState, kept: str | None
) -> str | None:
    """What is wrong with a claim beside the log of its holder, if anything is.

    Args:
        claim: The claim.
        events: The log of its holder by position, as far as its events are known here.
        state: What the log folds to.
        kept: The output that an operator settled it with, which is in no log.
    """
    if claim.state not in ("held", "committed"):
        return None
    if claim.state == "committed" and claim.completion_seq is None:
        return misfit_kept(claim, kept)
    if not intended(claim, events):
        return f"event {claim.intent_seq} of run {claim.run_id} is no call with its key"
    if claim.state == "held" or claim.completion_seq is None:
        return None if _holds(claim, state) else "it is held, and its call is not open"
    completion = events.get(claim.completion_seq)
    other = isinstance(completion, ToolCallCompleted) and completion.seq != claim.intent_seq
    found = None if other else output_at(events, claim.completion_seq)
    if found is None or content_hash(found.value) != claim.output_hash:
        return f"event {claim.completion_seq} of run {claim.run_id} is not its output"
    return None


def intended(claim: Claim, events: Mapping[int, Event]) -> bool:
    """Whether the intent that the claim names is a call with its key.

    Not of a claim whose holder was let go of: another run of that id may be there by now.
    """
    intent = events.get(claim.intent_seq)
    return isinstance(intent, ToolCallRequested) and intent.idempotency_key == claim.id.key


def misfit_kept(claim: Claim, kept: str | None) -> str | None:
    """What is wrong with the output that was kept beside the logs, if anything is."""
    if kept is None:
        return "its output is in no log and was not kept"
    try:
        found = content_hash(parse_json(kept, max_bytes=MAX_OUTPUT_BYTES))
    except JsonRefused as error:
        return f"the output that was kept cannot be read: {error.message}"
    return None if found == claim.output_hash else "the output that was kept is not its own"


def _holds(claim: Claim, state: RunState) -> bool:
    rest = state.park or state.sleep
    parked = rest.call.seq if rest is not None and rest.call is not None else None
    opened = state.open_call.seq if state.open_call is not None and not state.ended else None
    return claim.intent_seq in (parked, opened)
