"""What an operator does to a whole store: copies, restores, runs from elsewhere, retention."""

from __future__ import annotations

import os
import sqlite3
from tempfile import TemporaryDirectory

from salvor.events.chain import GENESIS
from salvor.events.records import Incarnation, RunCopy
from salvor.run_errors import RunExists, UnknownRun
from salvor.store_errors import StoreUnavailable
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.claim_table import committed_by, read_claim
from salvor.stores.instants import micros
from salvor.stores.kept_outputs import committed_output
from salvor.stores.refusals import claim_stands
from salvor.stores.write import Write

_PAGES = 256


def copied(db: sqlite3.Connection, path: str) -> None:
    """Write a whole copy of one moment; other processes go on writing meanwhile.

    Raises:
        StoreUnavailable: the place is taken, or cannot be written.
    """
    if os.path.lexists(path):
        raise StoreUnavailable(f"{path} is there already.", hint="Name a file that is not.")
    folder = os.path.dirname(os.path.abspath(path))
    try:
        # Under its name there is a whole copy or none.
        with TemporaryDirectory(prefix=".salvor-backup-", dir=folder) as place:
            part = os.path.join(place, "copy.db")
            _copy(db, part)
            os.rename(part, path)
        sync_folder(folder)
    except (sqlite3.Error, OSError) as error:
        raise StoreUnavailable(
            f"the backup {path} cannot be written: {error}.",
            hint="Nothing is left of it; name a place with enough room that this user may write.",
        ) from error


def _copy(db: sqlite3.Connection, path: str) -> None:
    # The read fixes the moment: without it each step would see the store anew, and begin from
    # the start whenever somebody had written meanwhile.
    db.execute(sql.UNCONFIRMED).fetchone()
    target = sqlite3.connect(path)
    try:
        db.backup(target, pages=_PAGES, sleep=0)
    finally:
        target.close()


def sync_folder(folder: str) -> None:
    """Make the names in a directory durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_incarnation(db: sqlite3.Connection) -> Incarnation:
    """The incarnation; a store that never was restored is in its first, confirmed."""
    number = db.execute(sql.META, ("incarnation",)).fetchone()
    confirmed = db.execute(sql.META, ("confirmed",)).fetchone()
    return Incarnation(
        number=1 if number is None else int(number[0]),
        confirmed=confirmed is None or confirmed[0] == "1",
    )


class IncarnationWrite(Write[Incarnation]):
    """Begins an incarnation, or confirms the one that is."""

    __slots__ = ("_begin",)

    def __init__(self, *, begin: bool) -> None:
        self._begin = begin

    def run(self, db: sqlite3.Connection) -> Incarnation:
        """Change the store's own table."""
        found = read_incarnation(db)
        number = found.number + 1 if self._begin else found.number
        db.execute(sql.PUT_META, ("incarnation", str(number)))
        db.execute(sql.PUT_META, ("confirmed", "0" if self._begin else "1"))
        return Incarnation(number=number, confirmed=not self._begin)

    def landed(self, db: sqlite3.Connection) -> bool:
        """An incarnation too many harms nobody."""
        return False


class AdoptWrite(Write[None]):
    """Writes a run that comes from another store."""

    __slots__ = ("_copy", "_token")

    def __init__(self, copy: RunCopy, token: str) -> None:
        self._copy = copy
        self._token = token

    def run(self, db: sqlite3.Connection) -> None:
        """All that belongs to the run, or nothing."""
        copy = self._copy
        if db.execute(sql.RUN_KEY, (copy.run_id,)).fetchone() is not None:
            raise RunExists(copy.run_id)
        for claim in copy.claims:
            if read_claim(db, claim.id) is not None:
                raise claim_stands(claim.id)
            db.execute(sql.PUT_CLAIM, records.claim_record(claim))
        key = self._head(db)
        for row in copy.rows:
            event = (key, row.seq, row.recorded_at, row.envelope, row.row_hash, 1, self._token)
            db.execute(sql.INSERT_EVENT, event)
        for park in copy.answers:
            db.execute(sql.ANSWER, (key, park))
        for one in copy.signals:
            told = (one.name, one.payload, one.sender_id, one.by, micros(one.sent_at))
            db.execute(sql.ADOPT_SIGNAL, (key, one.n, *told, one.consumed))
        for claim_id, text in copy.outputs:
            db.execute(sql.PUT_OUTPUT, (*records.claim_key(claim_id), text))
        if copy.cancel is not None:
            asked = (copy.cancel.reason, copy.cancel.by, micros(copy.cancel.asked_at))
            db.execute(sql.PUT_CANCEL, (key, *asked))
            db.execute(sql.MARK_CANCELLED, (key,))
        for late in copy.late:
            db.execute(sql.KEEP_LATE, records.late_record(late))

    def _head(self, db: sqlite3.Connection) -> int:
        copy = self._copy
        first = copy.rows[0].recorded_at if copy.rows else None
        last = copy.rows[-1] if copy.rows else None
        head = (
            copy.run_id,
            self._token,
            len(copy.rows),
            GENESIS if last is None else last.row_hash,
            first,
            None if last is None else last.recorded_at,
            None if copy.due_at is None else micros(copy.due_at),
            copy.ended,
        )
        key = db.execute(sql.ADOPT, head).lastrowid
        assert key is not None
        return key

    def landed(self, db: sqlite3.Connection) -> bool:
        """The run is there, with this token."""
        record = db.execute(sql.FENCE, (self._copy.run_id,)).fetchone()
        return record is not None and record[1] == self._token


class ForgetWrite(Write[bool]):
    """Removes a run that ended long ago; what its claims were committed with is kept."""

    __slots__ = ("_before", "_run_id")

    def __init__(self, run_id: str, before: int) -> None:
        self._run_id = run_id
        self._before = before

    def run(self, db: sqlite3.Connection) -> bool:
        """Keep the outputs, then remove everything else."""
        record = db.execute(sql.RUN_TO_FORGET, (self._run_id,)).fetchone()
        if record is None:
            raise UnknownRun(self._run_id)
        key, ended, last = record
        if not ended or last >= self._before:
            return False
        if db.execute(sql.FAILED_BY, (self._run_id,)).fetchone() is not None:
            return False
        for claim in committed_by(db, self._run_id):
            assert claim.completion_seq is not None
            around = (key, claim.completion_seq - 1, claim.completion_seq)
            rows = [records.row(found) for found in db.execute(sql.EVENTS_AT, around)]
            text = committed_output(rows, claim)
            if text is not None:
                db.execute(sql.PUT_OUTPUT, (*records.claim_key(claim.id), text))
                # A run of that id may be begun anew, and its log is another one.
                db.execute(sql.OUTLIVE_LOG, records.claim_key(claim.id))
        for statement in sql.FORGET:
            db.execute(statement, (key,))
        db.execute(sql.FORGET_LATE, (self._run_id,))
        return True

    def landed(self, db: sqlite3.Connection) -> bool:
        """The run is gone."""
        return db.execute(sql.RUN_KEY, (self._run_id,)).fetchone() is None
