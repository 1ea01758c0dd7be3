"""Appends events to one run's log, in order, under one fence."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from datetime import datetime

import anyio

from salvor.clock import Clock
from salvor.events.chain import row_hash
from salvor.events.claims import ClaimChange
from salvor.events.codec import decode, encode_event
from salvor.events.guard import misplaced
from salvor.events.records import Append, Fence, Head, Row, Stands
from salvor.events.store import Store
from salvor.events.vocabulary import TERMINAL, Event, ToolCallCompleted
from salvor.store_errors import (
    AppendRefused,
    CommitUnknown,
    Conflict,
    Fenced,
    StoreClosed,
    StoreError,
)
from salvor.values import format_instant

_log = logging.getLogger("salvor.store")

_RETRY_FIRST = 0.05
_RETRY_MAX = 5.0


def sealed_rows(
    events: tuple[Event, ...],
    *,
    run_id: str,
    length: int,
    prev: str,
    last: Event | None,
    clock: Clock,
) -> tuple[Row, ...]:
    """The rows that add ``events`` to a log of that length, last hash and last event.

    Raises:
        AppendRefused: one of the events may not stand there.
    """
    rows: list[Row] = []
    now = clock.now()
    recorded_at = format_instant(now)
    micros = int(now.timestamp() * 1_000_000)
    for seq, event in enumerate(events, length):
        detail = misplaced(last, event, seq)
        if detail is not None:
            raise AppendRefused(run_id=run_id, seq=seq, detail=detail)
        text = encode_event(event, run_id=run_id, seq=seq, recorded_at=recorded_at)
        prev = row_hash(prev, run_id, seq, text)
        rows.append(Row(seq=seq, recorded_at=micros, envelope=text, row_hash=prev))
        last = event
    return tuple(rows)


class Recorder:
    """The one writer of a run's log while its fence holds.

    Args:
        store: Where the log is.
        clock: Stamps the events.
        fence: The right to write.
        head: The head the log had when it was read.
        last: The log's last event, ``None`` when it is empty.
    """

    def __init__(
        self, store: Store, clock: Clock, *, fence: Fence, head: Head, last: Event | None
    ) -> None:
        self.fence = fence
        self._store = store
        self._clock = clock
        self._length = head.length
        self._hash = head.head_hash
        self._last = last
        self._counter: Iterator[int] = itertools.count()

    @property
    def next_seq(self) -> int:
        """The position of the next event."""
        return self._length

    def go_on_from(self, head: Head, last: Event | None) -> None:
        """Write after this end of the log, which was read anew under the same fence."""
        self._length, self._hash, self._last = head.length, head.head_hash, last

    async def append(
        self,
        *events: Event,
        claims: tuple[ClaimChange, ...] = (),
        due: datetime | None = None,
        consumes: int | None = None,
        unless_signal: str | None = None,
        heeds_cancel: bool = False,
    ) -> Stands | None:
        """Record events; durable when this returns ``None``.

        Args:
            events: What happened, in order.
            claims: What becomes of claims with it.
            due: When the run is to be looked at again, if it rests now.
            consumes: The number of the signal that the last event answers with.
            unless_signal: Record nothing while a signal of that name is unconsumed.
            heeds_cancel: Record nothing while a cancel stands.

        Returns:
            What stands in the way, and nothing was recorded: the claim when a `TakeClaim`
            was refused, the signal, or the cancel.

        Raises:
            Fenced: the run was taken over.
            StoreError: the store failed; nothing was recorded.
        """
        append = self._prepare(events, claims, due, consumes, unless_signal, heeds_cancel)
        try:
            seen = await self._store.append(append)
        except CommitUnknown:
            if not await self._stored(append):
                raise
            seen = None
        if seen is None:
            self._advance(append, events[-1])
        return seen

    async def append_surely(
        self,
        *events: Event,
        claims: tuple[ClaimChange, ...] = (),
        due: datetime | None = None,
        heeds_cancel: bool = False,
    ) -> Stands | None:
        """Record what must not be lost: try again until it is stored or the run is fenced.

        A full disk or a busy store passes; what a body did does not come back (G4).

        Returns:
            The cancel that stands in the way, if it is heeded; nothing was recorded then.

        Raises:
            Fenced, Conflict: the run is another's.
            StoreError: the store will not do better by waiting.
        """
        append = self._prepare(events, claims, due, heeds_cancel=heeds_cancel)
        delay = _RETRY_FIRST
        while True:
            try:
                seen = await self._store.append(append)
                break
            except (Fenced, Conflict, StoreClosed):
                if not await self._stored(append):
                    raise
                seen = None
                break
            except StoreError as error:
                if not error.passing and not await self._stored(append):
                    raise
                if delay == _RETRY_FIRST:
                    _log.warning("run %s: its completion waits: %s", self.fence.run_id, error)
                await anyio.sleep(delay)
                delay = min(delay * 2, _RETRY_MAX)
        if seen is None:
            self._advance(append, events[-1])
        return seen

    async def holds(self, completion: ToolCallCompleted) -> bool:
        """Whether a completion is in the log, whatever its append seemed to say."""
        try:
            page = await self._store.read(self.fence.run_id, after=completion.seq, limit=1)
        except StoreError:
            return False
        if not page.rows:
            return False
        row = page.rows[0]
        found = decode(row.envelope, run_id=self.fence.run_id, seq=row.seq).event
        return found == completion

    def _prepare(
        self,
        events: tuple[Event, ...],
        claims: tuple[ClaimChange, ...],
        due: datetime | None,
        consumes: int | None = None,
        unless_signal: str | None = None,
        heeds_cancel: bool = False,
    ) -> Append:
        return Append(
            fence=self.fence,
            length=self._length,
            prev_hash=self._hash,
            rows=sealed_rows(
                events,
                run_id=self.fence.run_id,
                length=self._length,
                prev=self._hash,
                last=self._last,
                clock=self._clock,
            ),
            nonce=f"{self.fence.token}.{next(self._counter)}",
            claims=claims,
            due=due,
            ends=isinstance(events[-1], TERMINAL),
            consumes=consumes,
            heeds_cancel=heeds_cancel,
            unless_signal=unless_signal,
        )

    def _advance(self, append: Append, last: Event) -> None:
        self._length += len(append.rows)
        self._hash = append.rows[-1].row_hash
        self._last = last

    async def _stored(self, append: Append) -> bool:
        # A row hash covers run, position, time stamp and the whole history before it.
        try:
            page = await self._store.read(
                self.fence.run_id, after=append.length - 1, limit=len(append.rows)
            )
        except StoreError:
            return False
        return [row.row_hash for row in page.rows] == [row.row_hash for row in append.rows]
