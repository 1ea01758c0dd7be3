"""The log of what operators said of claims: each row is hashed with the one before."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from salvor.events.chain import GENESIS
from salvor.events.claims import Claim, ClaimId
from salvor.events.records import ClaimEntry, LoggedClaim
from salvor.store_errors import ClaimLogTampered
from salvor.values import JsonObject, canonical_json, format_instant, parse_instant, parse_object

SPEC = "salvor.claims.v1"


def logged(
    n: int, prev: str, entry: ClaimEntry, before: Claim | None, after: Claim | None
) -> LoggedClaim:
    """Row ``n`` of the log, after a row of hash ``prev``."""
    states = ("none" if before is None else before.state, "none" if after is None else after.state)
    text = entry_text(entry, *states)
    return LoggedClaim(
        n=n,
        entry=entry,
        state_before=states[0],
        state_after=states[1],
        row_hash=entry_hash(prev, n, text),
    )


def entry_text(entry: ClaimEntry, before: str, after: str) -> str:
    """The canonical text of an entry, as it is stored and hashed."""
    fields: JsonObject = {
        "namespace": entry.id.namespace,
        "scope": entry.id.scope,
        "key": entry.id.key,
        "generation": entry.generation,
        "verb": entry.verb,
        "reason": entry.reason,
        "evidence": entry.evidence,
        "by": entry.by,
        "at": format_instant(entry.at),
        "before": before,
        "after": after,
    }
    return canonical_json(fields)


def read_entry(n: int, text: str, row_hash: str) -> LoggedClaim:
    """The row of a stored text."""
    found = parse_object(text, what=f"row {n} of the claim log")
    evidence = found["evidence"]
    return LoggedClaim(
        n=n,
        entry=ClaimEntry(
            id=ClaimId(
                namespace=str(found["namespace"]), scope=str(found["scope"]), key=str(found["key"])
            ),
            generation=int(str(found["generation"])),
            verb=str(found["verb"]),
            reason=str(found["reason"]),
            evidence=None if evidence is None else str(evidence),
            by=str(found["by"]),
            at=parse_instant(str(found["at"])),
        ),
        state_before=str(found["before"]),
        state_after=str(found["after"]),
        row_hash=row_hash,
    )


def entry_hash(prev: str, n: int, text: str) -> str:
    """SHA-256 over the spec, the hash before, the number and the text, newline-separated."""
    return hashlib.sha256("\n".join((SPEC, prev, str(n), text)).encode()).hexdigest()


def check_claim_log(rows: Iterable[LoggedClaim]) -> str:
    """Check a whole claim log; returns the hash of its last row.

    Raises:
        ClaimLogTampered: a row is missing or is not what was written.
    """
    prev = GENESIS
    for number, row in enumerate(rows, 1):
        text = entry_text(row.entry, row.state_before, row.state_after)
        if row.n != number or entry_hash(prev, number, text) != row.row_hash:
            raise ClaimLogTampered(number)
        prev = row.row_hash
    return prev
