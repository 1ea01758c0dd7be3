"""What a store keeps and is handed: the records of its port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from salvor.errors import Extent
from salvor.events.claims import Claim, ClaimChange, ClaimId

STUCK_AFTER = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """Who drives: an id that is unique for each runtime, and where to find its process."""

    id: str
    pid: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The right to write to one run: void as soon as somebody else takes the run over."""

    run_id: str
    epoch: int
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Until when a driver may count on its run (store's clock)."""

    driver: Driver
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head row of a run: how long its log is, its last hash, and who drives it.

    ``lease`` is ``None`` when nobody does: released, expired, or its driver is known dead.
    ``takeovers`` counts those since the last event, ``causes`` says how the last of them
    ended (DURABILITY C4). ``due_at`` is when the run is to be looked at again.
    """

    run_id: str
    epoch: int
    length: int
    head_hash: str
    lease: Lease | None
    takeovers: int = 0
    causes: tuple[str, ...] = ()
    due_at: datetime | None = None
    ended: bool = False

    @property
    def stuck(self) -> bool:
        """Whether only an operator may take the run over."""
        return self.takeovers >= STUCK_AFTER and not self.ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One stored event: its exact envelope text and its place in the hash chain.

    ``recorded_at`` is in microseconds since the epoch, for listings only.
    """

    seq: int
    recorded_at: int
    envelope: str
    row_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One entry of a run's inbox (DURABILITY D3).

    ``n`` is its number, given by the store; ``payload`` canonical JSON text; ``sender_id``
    the sender's own name for it, by which a repeated sending is recognised; ``consumed``
    the position of the `Resumed` that took it.
    """

    run_id: str
    name: str
    payload: str
    sent_at: datetime
    sender_id: str | None = None
    by: str | None = None
    n: int = 0
    consumed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """The wish that a run ends; its driver or a sweeper honours it (DURABILITY D5)."""

    run_id: str
    reason: str | None
    by: str | None
    asked_at: datetime


Stands: TypeAlias = Claim | Signal | Cancel
"""What stands in the way of an append."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Rows for the end of a log, and what goes with them, all or nothing.

    ``length`` and ``prev_hash`` say what the log must be before; ``nonce`` is unique for
    each append and lets its driver find out whether an unknown commit took effect.

    ``due`` replaces the run's ``due_at``; ``ends`` says that the last row is the run's end;
    ``consumes`` is the number of the signal that the last row answers with. Two conditions:
    ``heeds_cancel`` writes nothing while a cancel stands, ``unless_signal`` nothing while a
    signal of that name is unconsumed.
    """

    fence: Fence
    length: int
    prev_hash: str
    rows: tuple[Row, ...]
    nonce: str
    claims: tuple[ClaimChange, ...] = ()
    due: datetime | None = None
    ends: bool = False
    consumes: int | None = None
    heeds_cancel: bool = False
    unless_signal: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimEntry:
    """What an operator says of a claim, for the claim log (DURABILITY E6).

    ``verb`` is ``release`` or ``settle``; ``generation`` the one the operator saw.
    """

    id: ClaimId
    generation: int
    verb: str
    reason: str
    evidence: str | None
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedClaim:
    """A row of the claim log, in its own hash chain."""

    n: int
    entry: ClaimEntry
    state_before: str
    state_after: str
    row_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PutOff:
    """A run that was due at ``seen``, had nothing to do, and is due ``at`` another instant.

    ``seen`` is ``None`` where it was due by no instant, but because its driver died.
    """

    seen: datetime | None
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Rows that an operator or a sweeper, not a driver, adds to a run that rests (F1).

    ``answers`` is the position of the park the rows answer, if they do. ``not_before`` and
    ``not_after`` are held against the store's clock. ``due``, ``ends`` and ``consumes`` are
    those of `Append`. ``entry`` goes into the claim log. ``rows`` may be empty: then only
    the epoch is raised, the claims change, and the run is put off if that is said.
    """

    run_id: str
    length: int
    prev_hash: str
    rows: tuple[Row, ...]
    nonce: str
    claims: tuple[ClaimChange, ...] = ()
    answers: int | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    due: datetime | None = None
    put_off: PutOff | None = None
    ends: bool = False
    consumes: int | None = None
    entry: ClaimEntry | None = None
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    """A store's life between restores; keyed calls wait until it is confirmed (G6)."""

    number: int
    confirmed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """Some rows of a log, and its head as of the same moment."""

    rows: Sequence[Row]
    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """A run that stands still until a claim held by another run is settled."""

    run_id: str
    claim: ClaimId
    tool: str
    holder_run: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResult:
    """What a driver got to know after it had lost its run (DURABILITY E7).

    ``outcome`` is ``output``, ``error`` or ``not_executed``; ``value`` the canonical JSON
    text; ``extent`` what a failure may have done, ``None`` for an output.
    """

    run_id: str
    intent_seq: int
    epoch: int
    outcome: str
    value: str
    kept_at: datetime
    extent: Extent | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in a listing; times are in microseconds since the epoch, ``None`` when empty."""

    head: Head
    first_recorded_at: int | None
    last_recorded_at: int | None
    wait: Wait | None
    cancel: Cancel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCopy:
    """One run with all that belongs to it, for another store.

    ``rows`` are the whole log; ``claims`` those this run holds or has settled; ``outputs``
    what an operator settled some of them with, as canonical JSON text.
    """

    run_id: str
    rows: tuple[Row, ...]
    ended: bool
    due_at: datetime | None = None
    claims: tuple[Claim, ...] = ()
    signals: tuple[Signal, ...] = ()
    answers: tuple[int, ...] = ()
    late: tuple[LateResult, ...] = ()
    cancel: Cancel | None = None
    outputs: tuple[tuple[ClaimId, str], ...] = ()
