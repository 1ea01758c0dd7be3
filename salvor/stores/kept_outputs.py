"""The output of a committed claim, taken out of the log that is to be removed."""

from __future__ import annotations

from collections.abc import Sequence

from salvor.events.claims import Claim
from salvor.events.codec import decode
from salvor.events.outputs import output_at
from salvor.events.records import Row
from salvor.store_errors import TamperEvident
from salvor.values import canonical_json, content_hash


def committed_output(rows: Sequence[Row], claim: Claim) -> str | None:
    """The canonical text of what a claim was committed with; ``None`` if it was not.

    Args:
        rows: The holder's log, or the part of it from the event before the completion.
        claim: The claim.

    Raises:
        TamperEvident: the log does not give back what the claim was committed with.
    """
    if claim.state != "committed" or claim.completion_seq is None:
        return None
    events = {
        row.seq: decode(row.envelope, run_id=claim.run_id, seq=row.seq).event
        for row in rows
        if claim.completion_seq - 1 <= row.seq <= claim.completion_seq
    }
    found = output_at(events, claim.completion_seq)
    if found is None or content_hash(found.value) != claim.output_hash:
        raise TamperEvident(
            run_id=claim.run_id,
            seq=claim.completion_seq,
            detail="it is not the output that its key was committed with",
        )
    return canonical_json(found.value)
