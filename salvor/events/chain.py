"""The hash chain of a log: each row's hash covers its text and the hash before it.

SHA-256 over, separated by newlines: the chain's name, the previous row hash (64 zeros at
the start), the run id, the decimal position, and the exact stored envelope text. It shows
edits, reordering, insertion and removal; it does not stop somebody who rewrites the whole
log and knows the scheme.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from salvor.events.records import Head, Row
from salvor.store_errors import TamperEvident

CHAIN = "salvor.chain.v1"
GENESIS = "0" * 64


def row_hash(prev_hash: str, run_id: str, seq: int, envelope: str) -> str:
    """The hash of one row: 64 lower-case hex digits."""
    return hashlib.sha256(f"{CHAIN}\n{prev_hash}\n{run_id}\n{seq}\n{envelope}".encode()).hexdigest()


class ChainCheck:
    """Checks the rows of one log, page by page, against each other and against the head.

    Args:
        run_id: Whose log it is.
        known: Where the rows that were checked before end; only later ones are handed in.
    """

    def __init__(self, run_id: str, known: Head | None = None) -> None:
        self._run_id = run_id
        self._hash = GENESIS if known is None else known.head_hash
        self._next = 0 if known is None else known.length

    @property
    def head_hash(self) -> str:
        """The hash of the last row seen."""
        return self._hash

    @property
    def length(self) -> int:
        """How many rows were seen."""
        return self._next

    def rows(self, rows: Iterable[Row]) -> None:
        """Take in the next rows.

        Raises:
            TamperEvident: when a row is missing, out of place, or not what was written.
        """
        for row in rows:
            if row.seq != self._next:
                raise self._tampered(self._next, f"the next stored row is event {row.seq}")
            if row_hash(self._hash, self._run_id, row.seq, row.envelope) != row.row_hash:
                raise self._tampered(row.seq, "its hash does not fit its text")
            self._hash = row.row_hash
            self._next += 1

    def end(self, head: Head) -> None:
        """Compare with the head row once all rows were taken in."""
        if head.length != self._next:
            raise self._tampered(
                max(self._next - 1, 0),
                f"{self._next} rows are stored, the head counts {head.length}",
            )
        if head.head_hash != self._hash:
            raise self._tampered(max(self._next - 1, 0), "the head names another last row")

    def _tampered(self, seq: int, detail: str) -> TamperEvident:
        return TamperEvident(run_id=self._run_id, seq=seq, detail=detail)
