"""The claims table of the SQLite store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from salvor.events.claims import Claim, ClaimChange, ClaimId, MoveClaim, TakeClaim
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.claim_changes import changed


def read_claim(db: sqlite3.Connection, claim_id: ClaimId) -> Claim | None:
    """The claim as it stands."""
    query = db.execute(sql.CLAIM, records.claim_key(claim_id))
    return records.claim(claim_id, query.fetchone())


def held_claim(db: sqlite3.Connection, run_id: str, intent_seq: int) -> Claim | None:
    """The claim that an intent holds."""
    record = db.execute(sql.HELD_CLAIM, (run_id, intent_seq)).fetchone()
    if record is None:
        return None
    namespace, scope, key = record[-3:]
    return records.claim(ClaimId(namespace=namespace, scope=scope, key=key), record[:-3])


def change_claims(db: sqlite3.Connection, changes: Sequence[ClaimChange]) -> None:
    """Carry out claim changes in their order.

    Raises:
        ClaimStands: a `TakeClaim` that may not take the key.
        Conflict: a claim that is not held as the change says.
    """
    for change in changes:
        statement, parameters = plain_change(change)
        if db.execute(statement, parameters).rowcount != 1:
            claim = changed(read_claim(db, change.id), change)
            db.execute(sql.PUT_CLAIM, records.claim_record(claim))


def plain_change(change: ClaimChange) -> tuple[str, tuple[Any, ...]]:
    """The statement that changes one row in the plain cases, and none in all others.

    Plain is the taking of a key that nobody ever took, and every change of a claim that is
    held as the change says.
    """
    key = records.claim_key(change.id)
    if isinstance(change, TakeClaim):
        taken = (change.effect, change.run_id, change.intent_seq, change.input_hash)
        return sql.FRESH_CLAIM, (*key, *taken)
    held = (*key, change.run_id, change.intent_seq)
    if isinstance(change, MoveClaim):
        return sql.MOVE_CLAIM, (change.fresh_seq, *held)
    settled = (change.to, change.extent, change.completion_seq, change.output_hash)
    return sql.SETTLE_CLAIM, (*settled, *held)
