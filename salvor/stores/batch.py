"""Carries a batch of writes out in one open transaction.

Optimistic: all appends are tried at once, with a statement for each table instead of one
for each append. Only if the changed rows do not add up is everything rolled back and done
again one by one, each behind a savepoint, to find out who is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, TypeAlias

from salvor.errors import SalvorError
from salvor.events.claims import ClaimChange, OverruleClaim
from salvor.store_errors import Conflict
from salvor.stores import statements as sql
from salvor.stores.claim_table import plain_change
from salvor.stores.faults import store_error
from salvor.stores.write import Withdrawn, Write
from salvor.stores.writes import AppendWrite

AnyWrite: TypeAlias = Write[Any]


class _Mismatch(Exception):
    pass


def carry_out(db: sqlite3.Connection, batch: Sequence[AnyWrite]) -> None:
    """Run the batch in the transaction that was begun; every member gets its outcome.

    Raises:
        sqlite3.Error: the database failed; no member is in it.
    """
    if len(batch) == 1:
        _alone(db, batch[0])
        return
    appends = [write for write in batch if isinstance(write, AppendWrite) and write.is_plain]
    if len(appends) > 1 and _together(db, appends):
        done = set(map(id, appends))
        batch = [write for write in batch if id(write) not in done]
    for write in batch:
        _behind_savepoint(db, write)


def _alone(db: sqlite3.Connection, write: AnyWrite) -> None:
    if not _done(db, write):
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")


def _behind_savepoint(db: sqlite3.Connection, write: AnyWrite) -> None:
    db.execute("SAVEPOINT member")
    if not _done(db, write):
        db.execute("ROLLBACK TO member")
    db.execute("RELEASE member")


def _done(db: sqlite3.Connection, write: AnyWrite) -> bool:
    """Run one write; ``False`` if what it wrote has to be rolled back."""
    write.error = None
    try:
        write.value = write.run(db)
    except Withdrawn as withdrawn:
        write.value = withdrawn.value
    except sqlite3.IntegrityError as error:
        write.error = Conflict(f"the rows do not fit the store ({error}); nothing was written.")
    except sqlite3.Error:
        raise
    except OSError as error:  # the directory of the drivers' locks
        write.error = store_error(error, error.filename or "on this disk")
    except (SalvorError, ValueError, TypeError) as error:
        write.error = error
    else:
        return True
    return False


def _together(db: sqlite3.Connection, appends: Sequence[AppendWrite]) -> bool:
    """Try all appends at once; ``False`` if they were rolled back."""
    try:
        _advance(db, appends)
        changes = [change for write in appends for change in write.append.claims]
        if changes:
            _change_claims(db, changes)
    except (_Mismatch, sqlite3.IntegrityError):
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")
        return False
    for write in appends:
        write.value = None
        write.error = None
    return True


def _advance(db: sqlite3.Connection, appends: Sequence[AppendWrite]) -> None:
    _all(db, sql.ADVANCE, [write.advance() for write in appends])
    _all(db, sql.INSERT_EVENT, [event for write in appends for event in write.events()])
    firsts = [
        (write.append.rows[0].recorded_at, write.key)
        for write in appends
        if write.append.length == 0
    ]
    if firsts:
        _all(db, sql.FIRST_EVENT, firsts)


def _change_claims(db: sqlite3.Connection, changes: Sequence[ClaimChange]) -> None:
    # Grouped by statement and so out of their order: a batch in which one change needs
    # another to come first does not add up either, and is done again one by one.
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for change in changes:
        if isinstance(change, OverruleClaim):  # never plain
            raise _Mismatch
        statement, parameters = plain_change(change)
        groups.setdefault(statement, []).append(parameters)
    for statement, parameter_rows in groups.items():
        _all(db, statement, parameter_rows)


def _all(db: sqlite3.Connection, statement: str, parameters: Sequence[tuple[Any, ...]]) -> None:
    if parameters and db.executemany(statement, parameters).rowcount != len(parameters):
        raise _Mismatch
