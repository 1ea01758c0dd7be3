"""The claims table of the SQLite store."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeAlias

from salvor.events.chain import GENESIS
from salvor.events.claim_log import entry_text, logged
from salvor.events.claims import (
    Claim,
    ClaimChange,
    ClaimId,
    MoveClaim,
    OverruleClaim,
    SettleClaim,
    TakeClaim,
)
from salvor.events.records import ClaimEntry
from salvor.run_errors import Unconfirmed
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.claim_changes import changed

PlainChange: TypeAlias = TakeClaim | MoveClaim | SettleClaim


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


def claims_page(
    db: sqlite3.Connection, after: tuple[str, str, str], state: str | None, limit: int
) -> list[Claim]:
    """Claims by scope and key, after one of them."""
    found = db.execute(sql.CLAIMS, (*after, state, limit))
    return [_listed(record) for record in found]


def committed_by(db: sqlite3.Connection, run_id: str) -> list[Claim]:
    """The claims that this run's log has the output of."""
    return [_listed(record) for record in db.execute(sql.COMMITTED_BY, (run_id,))]


def _listed(record: records.Record) -> Claim:
    namespace, scope, key = record[:3]
    claim_id = ClaimId(namespace=namespace, scope=scope, key=key)
    found = records.claim(claim_id, record[3:])
    assert found is not None
    return found


def change_claims(db: sqlite3.Connection, changes: Sequence[ClaimChange]) -> None:
    """Carry out claim changes in their order.

    Raises:
        ClaimStands: a `TakeClaim` that may not take the key.
        Conflict: a claim that is not held as the change says.
        Unconfirmed: a `TakeClaim` in a store that was restored.
    """
    for change in changes:
        if isinstance(change, OverruleClaim):
            _overrule(db, change)
            continue
        statement, parameters = plain_change(change)
        if db.execute(statement, parameters).rowcount != 1:
            if isinstance(change, TakeClaim):
                _refuse_unconfirmed(db)
            claim = changed(read_claim(db, change.id), change)
            db.execute(sql.PUT_CLAIM, records.claim_record(claim))


def _overrule(db: sqlite3.Connection, change: OverruleClaim) -> None:
    claim = changed(read_claim(db, change.id), change)
    db.execute(sql.PUT_CLAIM, records.claim_record(claim))
    key = records.claim_key(change.id)
    if change.output is None:
        db.execute(sql.DROP_OUTPUT, key)
    else:
        db.execute(sql.PUT_OUTPUT, (*key, change.output))


def _refuse_unconfirmed(db: sqlite3.Connection) -> None:
    if db.execute(sql.UNCONFIRMED).fetchone() is not None:
        raise Unconfirmed


def keep_entry(db: sqlite3.Connection, entry: ClaimEntry, before: Claim | None) -> None:
    """Append what an operator said to the claim log."""
    last = db.execute(sql.LAST_ENTRY).fetchone() or (0, GENESIS)
    after = read_claim(db, entry.id)
    row = logged(last[0] + 1, last[1], entry, before, after)
    text = entry_text(entry, row.state_before, row.state_after)
    db.execute(sql.PUT_ENTRY, (row.n, text, row.row_hash))


def plain_change(change: PlainChange) -> tuple[str, tuple[Any, ...]]:
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
