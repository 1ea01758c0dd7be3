"""Looking after a whole store: verify, anchor, export, import, let go of what is over."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from salvor.errors import JsonRefused, SalvorError
from salvor.events.chain import GENESIS, ChainCheck
from salvor.events.claim_log import check_claim_log
from salvor.events.claims import Claim, ClaimId
from salvor.events.codec import decode
from salvor.events.fold import fold
from salvor.events.outputs import output_at
from salvor.events.records import Head, LateResult, Row, RunCopy, RunRow, Signal
from salvor.events.skim import Skim, skim_log
from salvor.events.vocabulary import TERMINAL, Envelope, Event, Resumed
from salvor.run_errors import CopyRefused
from salvor.runtime.host import Host
from salvor.values import (
    content_hash,
    format_instant,
    parse_instant,
    parse_object,
    parse_run_id,
)

PAGE = 200
ANCHOR = "salvor.anchor.v1"
COPY = "salvor.run.v1"
_MAX_LINE = 64 * 1024 * 1024


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
        """One run with all that belongs to it, one JSON text a line."""
        run_id = parse_run_id(run_id)
        skim = await skim_log(self._host.store, run_id)
        rows = await self._log(run_id, skim.head)
        last = skim.entries[-1] if skim.entries else None
        ended = isinstance(last, Envelope) and isinstance(last.event, TERMINAL)
        due = skim.head.due_at
        head = {
            "format": COPY,
            "run_id": run_id,
            "ended": ended,
            "due_at": None if due is None else format_instant(due),
        }
        lines: list[dict[str, Any]] = [head]
        lines += [{"row": asdict(row)} for row in rows]
        lines += [{"signal": _plain(one)} for one in await self._host.store.inbox(run_id)]
        lines += [{"late": _plain(one)} for one in await self._host.store.late(run_id)]
        lines += [
            {"claim": _plain(claim)} async for claim in self._claims() if claim.run_id == run_id
        ]
        return [json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines]

    async def adopt(self, lines: Iterable[str]) -> str:
        """Take in a run that was exported elsewhere; its id.

        Raises:
            CopyRefused: the lines are no whole run.
            TamperEvident: the log is not what was written.
            RunExists, Conflict: the run, or a claim of it, is here already.
        """
        copy = read_copy(lines)
        check = ChainCheck(copy.run_id)
        check.rows(copy.rows)
        await self._host.store.adopt(copy)
        return copy.run_id

    async def forget(self, *, ended_before: datetime) -> list[str]:
        """Let go of the runs that ended before an instant; committed claims keep their outputs."""
        ids = [row.head.run_id async for row in self._rows(ended=True)]
        store = self._host.store
        return [one for one in ids if await store.forget(one, ended_before=ended_before)]

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

    async def _log(self, run_id: str, head: Head) -> list[Row]:
        page = await self._host.store.read(run_id, limit=max(head.length, 1))
        return list(page.rows)

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
            return await self._kept(claim) if claim.state == "committed" else None
        events = {one.seq: one.event for one in skim.entries if isinstance(one, Envelope)}
        if claim.state == "held":
            return None if _holds(claim, skim) else "it is held, and its call is not open"
        if claim.state != "committed":
            return None
        if claim.completion_seq is None:
            return await self._kept(claim)
        found = output_at(events, claim.completion_seq)
        if found is None or content_hash(found.value) != claim.output_hash:
            return f"event {claim.completion_seq} of run {claim.run_id} is not its output"
        return None

    async def _kept(self, claim: Claim) -> str | None:
        text = await self._host.store.settled_output(claim)
        if text is None:
            return "its output is in no log and was not kept"
        found = content_hash(json.loads(text))
        return None if found == claim.output_hash else "the output that was kept is not its own"

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


def _holds(claim: Claim, skim: Skim) -> bool:
    state = fold(one for one in skim.entries if isinstance(one, Envelope))
    rest = state.park or state.sleep
    parked = rest.call.seq if rest is not None and rest.call is not None else None
    opened = state.open_call.seq if state.open_call is not None and not state.ended else None
    return claim.intent_seq in (parked, opened)


def _anchored(anchor: Mapping[str, Any] | None) -> dict[str, tuple[int, str]]:
    if anchor is None:
        return {}
    runs = anchor.get("runs")
    if anchor.get("format") != ANCHOR or not isinstance(runs, dict):
        raise JsonRefused("the file is no anchor.", hint="`salvor anchor` makes one.")
    return {str(run_id): (int(found[0]), str(found[1])) for run_id, found in runs.items()}


def _plain(record: Any) -> dict[str, Any]:
    return {
        name: format_instant(value) if isinstance(value, datetime) else value
        for name, value in asdict(record).items()
    }


def read_copy(lines: Iterable[str]) -> RunCopy:
    """The run of exported lines.

    Raises:
        CopyRefused: they are no whole run.
    """
    try:
        head, *rest = _objects(lines)
        if head.get("format") != COPY:
            raise CopyRefused("they do not begin as an exported run does")
        run_id, due = parse_run_id(head["run_id"]), head["due_at"]
        rows = tuple(Row(**one["row"]) for one in rest if "row" in one)
        signals = tuple(_signal(one["signal"]) for one in rest if "signal" in one)
        late = tuple(_late(one["late"]) for one in rest if "late" in one)
        claims = tuple(_claim(one["claim"]) for one in rest if "claim" in one)
        answers = tuple(_answers(run_id, rows))
    except (KeyError, TypeError, ValueError) as error:
        raise CopyRefused(f"a field is missing or mistyped ({error})") from None
    except JsonRefused as error:
        raise CopyRefused(error.message) from None
    return RunCopy(
        run_id=run_id,
        rows=rows,
        ended=bool(head["ended"]),
        due_at=None if due is None else parse_instant(due),
        claims=claims,
        signals=signals,
        answers=answers,
        late=late,
    )


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        yield parse_object(line, what=f"line {number}", max_bytes=_MAX_LINE)


def _answers(run_id: str, rows: tuple[Row, ...]) -> Iterator[int]:
    """The parks that were answered, read off the log."""
    for row in rows:
        try:
            event: Event = decode(row.envelope, run_id=run_id, seq=row.seq).event
        except SalvorError:
            continue
        if isinstance(event, Resumed) and event.answers is not None:
            yield event.answers


def _signal(found: dict[str, Any]) -> Signal:
    return Signal(**{**found, "sent_at": parse_instant(found["sent_at"])})


def _late(found: dict[str, Any]) -> LateResult:
    return LateResult(**{**found, "kept_at": parse_instant(found["kept_at"])})


def _claim(found: dict[str, Any]) -> Claim:
    return Claim(**{**found, "id": ClaimId(**found["id"])})
