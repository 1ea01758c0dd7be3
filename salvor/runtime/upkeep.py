"""Looking after a whole store: verify, anchor, export, import, let go of what is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from salvor.errors import JsonRefused, SalvorError
from salvor.events.chain import GENESIS
from salvor.events.claim_fit import misfit, misfit_kept
from salvor.events.claim_log import check_claim_log
from salvor.events.claims import Claim, ClaimId
from salvor.events.records import Head, RunRow
from salvor.events.skim import Skim, skim_log
from salvor.events.vocabulary import Envelope
from salvor.runtime.copies import PAGE, export_run, read_copy
from salvor.runtime.host import Host
from salvor.store_errors import LogError
from salvor.values import format_instant, parse_run_id

ANCHOR = "salvor.anchor.v1"
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something in a store that is not as it was written, or does not fit together."""

    subject: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was looked at, and everything that was found wrong."""

    runs: int
    events: int
    claims: int
    faults: tuple[Fault, ...]


class Upkeep:
    """The verbs for a whole store."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def verify(self, anchor: Mapping[str, Any] | None = None) -> Verified:
        """Check every log, every claim and the claim log; and against an anchor, if given.

        Raises:
            JsonRefused: the anchor is none.
        """
        runs, events, faults = 0, 0, list[Fault]()
        anchored = _anchored(anchor)
        logs: dict[str, Skim] = {}
        async for row in self._rows():
            runs, events = runs + 1, events + row.head.length
            run_id = row.head.run_id
            try:
                skim = await skim_log(self._host.store, run_id)
            except SalvorError as error:
                faults.append(Fault(subject=f"run {run_id}", detail=error.message))
                continue
            logs[run_id] = skim
            detail = await self._changed(run_id, anchored.pop(run_id, None), skim.head)
            if detail is not None:
                faults.append(Fault(subject=f"run {run_id}", detail=detail))
        faults += [
            Fault(
                subject=f"run {run_id}", detail="it was there when the anchor was made, and is gone"
            )
            for run_id in sorted(anchored)
        ]
        claims = 0
        async for claim in self._claims():
            claims += 1
            detail = await self._misfit(claim, logs.get(claim.run_id))
            if detail is not None:
                detail = await self._still_misfit(claim)
            if detail is not None:
                subject = f"claim {claim.id.scope} {claim.id.key}"
                faults.append(Fault(subject=subject, detail=detail))
        faults += await self._claim_log_faults(anchor)
        return Verified(runs=runs, events=events, claims=claims, faults=tuple(faults))

    async def anchor(self) -> dict[str, Any]:
        """The lengths and last hashes of all logs, to be kept where nobody can change them."""
        runs = {
            row.head.run_id: [row.head.length, row.head.head_hash] async for row in self._rows()
        }
        rows = await self._host.store.claim_log(limit=1_000_000)
        last = rows[-1].row_hash if rows else GENESIS
        return {
            "format": ANCHOR,
            "at": format_instant(self._host.clock.now()),
            "runs": dict(sorted(runs.items())),
            "claim_log": [len(rows), last],
        }

    async def export(self, run_id: str) -> list[str]:
        """One run with all that belongs to it, one JSON text a line.

        Raises:
            LeaseHeld, WrongState: it is driven, or was changed while it was read.
        """
        return await export_run(self._host, parse_run_id(run_id))

    async def adopt(self, lines: Iterable[str]) -> str:
        """Take in a run that was exported elsewhere; its id.

        Raises:
            CopyRefused: the lines are no whole run, or do not fit together.
            TamperEvident: the log is not what was written.
            RunExists, Conflict: the run, or a claim of it, is here already.
        """
        copy = read_copy(lines, now=self._host.clock.now())
        await self._host.store.adopt(copy)
        return copy.run_id

    async def forget(self, *, ended_before: datetime) -> list[str]:
        """Let go of the runs that ended before an instant; their ids.

        Committed claims keep their outputs. Runs with a failed claim stay until that is settled or
        released, and so do those whose log does not give back what a claim was committed with.
        Names do not outlive their runs: `Runtime.keyed` and `Runtime.session` of a name whose run
        is gone begin anew.
        """
        ids = [row.head.run_id async for row in self._rows(ended=True)]
        return [one for one in ids if await self._forgotten(one, ended_before)]

    async def _forgotten(self, run_id: str, ended_before: datetime) -> bool:
        try:
            return await self._host.store.forget(run_id, ended_before=ended_before)
        except LogError:  # `verify` tells of it; it stays, and no other run with it
            return False

    async def _rows(self, *, ended: bool | None = None) -> AsyncIterator[RunRow]:
        after: str | None = None
        while True:
            page = await self._host.store.runs(after=after, limit=PAGE, ended=ended)
            for row in page:
                yield row
            if len(page) < PAGE:
                return
            after = page[-1].head.run_id

    async def _claims(self) -> AsyncIterator[Claim]:
        after: ClaimId | None = None
        while True:
            page = await self._host.store.claims(after=after, limit=PAGE)
            for claim in page:
                yield claim
            if len(page) < PAGE:
                return
            after = page[-1].id

    async def _changed(
        self, run_id: str, anchored: tuple[int, str] | None, head: Head
    ) -> str | None:
        """What an anchor says against a log; one that only grew is as it was."""
        if anchored is None or anchored[0] == 0:
            return None
        length, last = anchored
        if head.length < length:
            return f"it had {length} events when the anchor was made, and has {head.length}"
        page = await self._host.store.read(run_id, after=length - 2, limit=1)
        found = page.rows[0].row_hash if page.rows else None
        return None if found == last else f"event {length - 1} is not what was anchored"

    async def _misfit(self, claim: Claim, skim: Skim | None) -> str | None:
        """What is wrong with a claim: the table can be recomputed from the logs (E2)."""
        if skim is None:
            if claim.state == "held":
                return f"it is held by run {claim.run_id}, which is not there or cannot be read"
            if claim.state != "committed":
                return None
            return misfit_kept(claim, await self._host.store.settled_output(claim))
        events = {one.seq: one.event for one in skim.entries if isinstance(one, Envelope)}
        kept = None
        if claim.state == "committed" and claim.completion_seq is None:
            kept = await self._host.store.settled_output(claim)
        return misfit(claim, events, skim.state, kept)

    async def _still_misfit(self, seen: Claim) -> str | None:
        """The same of one moment: the run may have gone on since its log was read."""
        store = self._host.store
        for _ in range(_TRIES):
            claim = await store.claim(seen.id) or seen
            try:
                skim = await skim_log(store, claim.run_id)
            except SalvorError:
                skim = None
            detail = await self._misfit(claim, skim)
            if detail is None or await store.claim(seen.id) == claim:
                return detail
        return None  # it goes on and on: whoever drives it checks what it reads

    async def _claim_log_faults(self, anchor: Mapping[str, Any] | None) -> list[Fault]:
        rows = await self._host.store.claim_log(limit=1_000_000)
        try:
            check_claim_log(rows)
        except SalvorError as error:
            return [Fault(subject="the claim log", detail=error.message)]
        if anchor is None:
            return []
        count, last = anchor["claim_log"]
        found = rows[count - 1].row_hash if 0 < count <= len(rows) else GENESIS
        if count > len(rows) or found != last:
            return [Fault(subject="the claim log", detail="it is not what was anchored")]
        return []


def _anchored(anchor: Mapping[str, Any] | None) -> dict[str, tuple[int, str]]:
    if anchor is None:
        return {}
    runs = anchor.get("runs")
    if anchor.get("format") != ANCHOR or not isinstance(runs, dict):
        raise _no_anchor()
    _end(anchor.get("claim_log"))
    return {str(run_id): _end(found) for run_id, found in runs.items()}


def _end(found: object) -> tuple[int, str]:
    """The length and the last hash of a log, as an anchor has them."""
    match found:
        case [int(length), str(last)] if length >= 0 and not isinstance(length, bool):
            return length, last
    raise _no_anchor()


def _no_anchor() -> JsonRefused:
    return JsonRefused("the file is no anchor.", hint="`salvor anchor` makes one.")
