"""A run with all that belongs to it, as lines for another store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from salvor.errors import JsonRefused
from salvor.events.chain import ChainCheck
from salvor.events.claim_fit import intended, misfit
from salvor.events.claims import Claim, ClaimId
from salvor.events.codec import decode
from salvor.events.fold import RunState, fold
from salvor.events.records import Cancel, Head, LateResult, Row, RunCopy, Signal
from salvor.events.vocabulary import TERMINAL, Envelope, Event, Resumed, ToolCallRequested
from salvor.run_errors import CopyRefused, LeaseHeld, WrongState
from salvor.runtime.host import Host
from salvor.store_errors import MalformedLog, UnsupportedEvent
from salvor.values import (
    MAX_OUTPUT_BYTES,
    format_instant,
    parse_instant,
    parse_json,
    parse_object,
    parse_run_id,
)

COPY = "salvor.run.v1"
PAGE = 200
_MAX_LINE = 64 * 1024 * 1024
_KINDS = ("row", "signal", "late", "claim", "cancel")

T = TypeVar("T")


async def export_run(host: Host, run_id: str) -> list[str]:
    """One run of one moment, one JSON text a line.

    Raises:
        LeaseHeld: it is being driven, so no moment is its last.
        WrongState: it was changed while it was read.
    """
    store = host.store
    before = await store.head(run_id)
    found: list[dict[str, Any]] = []
    page = await store.read(run_id, limit=max(before.length, 1))
    check = ChainCheck(run_id)
    check.rows(page.rows)
    found += [{"row": asdict(row)} for row in page.rows]
    found += [{"signal": _plain(one)} for one in await store.inbox(run_id)]
    found += [{"late": _plain(one)} for one in await store.late(run_id)]
    found += [one async for one in _claims(host, run_id)]
    cancel = await store.cancelled(run_id)
    found += [] if cancel is None else [{"cancel": _plain(cancel)}]
    after = await store.head(run_id)
    _refuse_driven(after)
    if (after.epoch, after.head_hash) != (before.epoch, before.head_hash):
        raise WrongState(f"run {run_id} was changed while it was read.", hint="Try again.")
    check.end(before)
    head = {
        "format": COPY,
        "run_id": run_id,
        "ended": after.ended,
        "due_at": None if after.due_at is None else format_instant(after.due_at),
        "lines": len(found),
    }
    return [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in (head, *found)]


def _refuse_driven(head: Head) -> None:
    if head.lease is not None:
        raise LeaseHeld(
            run_id=head.run_id,
            pid=head.lease.driver.pid,
            host=head.lease.driver.host,
            expires_at=format_instant(head.lease.expires_at),
        )


async def _claims(host: Host, run_id: str) -> Any:
    after: ClaimId | None = None
    while True:
        page = await host.store.claims(after=after, limit=PAGE)
        for claim in page:
            if claim.run_id == run_id:
                kept = claim.state == "committed" and claim.completion_seq is None
                output = await host.store.settled_output(claim) if kept else None
                yield {"claim": _plain(claim), "output": output}
        if len(page) < PAGE:
            return
        after = page[-1].id


def _plain(record: Any) -> dict[str, Any]:
    return {
        name: format_instant(value) if isinstance(value, datetime) else value
        for name, value in asdict(record).items()
    }


def read_copy(lines: Iterable[str], *, now: datetime) -> RunCopy:
    """The run of exported lines.

    Args:
        lines: What `export_run` wrote.
        now: When a run that nothing wakes is to be looked at.

    Raises:
        CopyRefused: they are no whole run, or do not fit together.
        TamperEvident: the log is not what was written.
    """
    try:
        found = list(_objects(lines))
        if not found:
            raise CopyRefused("there are none")
        head, *rest = found
        if head.get("format") != COPY:
            raise CopyRefused("they do not begin as an exported run does")
        return _copy(head, rest, now)
    except KeyError as error:
        raise CopyRefused(f"the field {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise CopyRefused(f"a field is missing or mistyped ({error})") from None
    except (JsonRefused, MalformedLog) as error:
        raise CopyRefused(error.message) from None


def _copy(head: dict[str, Any], rest: list[dict[str, Any]], now: datetime) -> RunCopy:
    run_id = parse_run_id(head["run_id"])
    if head["lines"] != len(rest):
        raise CopyRefused(f"{head['lines']} lines follow the first, here are {len(rest)}")
    given = {kind: [one for one in rest if kind in one] for kind in _KINDS}
    if sum(map(len, given.values())) != len(rest):
        raise CopyRefused(f"a line is none of {', '.join(_KINDS)}")
    rows = tuple(_made(Row, one["row"]) for one in given["row"])
    ChainCheck(run_id).rows(rows)
    log = _Log(run_id, rows)
    claims = tuple(_claim(one["claim"]) for one in given["claim"])
    outputs = {
        claim.id: one["output"]
        for claim, one in zip(claims, given["claim"], strict=True)
        if one.get("output") is not None
    }
    signals = tuple(_timed(Signal, one["signal"], "sent_at") for one in given["signal"])
    late = tuple(_timed(LateResult, one["late"], "kept_at") for one in given["late"])
    cancels = [_timed(Cancel, one["cancel"], "asked_at") for one in given["cancel"]]
    _check_owner(run_id, *signals, *late, *claims, *cancels)
    _check_signals(signals, log)
    _check_claims(claims, outputs, log)
    due = None if head["due_at"] is None else parse_instant(_text(head["due_at"]))
    return RunCopy(
        run_id=run_id,
        rows=rows,
        ended=log.ended if log.known else head["ended"] is True,
        due_at=now if due is None and log.goes_on else due,
        claims=claims,
        signals=signals,
        answers=log.answers,
        late=late,
        cancel=cancels[0] if cancels else None,
        outputs=tuple(outputs.items()),
    )


class _Log:
    """What a log says of what comes with it."""

    def __init__(self, run_id: str, rows: tuple[Row, ...]) -> None:
        self.run_id = run_id
        found = [_decoded(run_id, row) for row in rows]
        known = [one for one in found if one is not None]
        self.events: Mapping[int, Event] = {one.seq: one.event for one in known}
        self.state: RunState = fold(known)
        self.known = not found or found[-1] is not None
        self.ended = bool(found) and found[-1] is not None and isinstance(found[-1].event, TERMINAL)
        resumed = [(one.seq, one.event) for one in known if isinstance(one.event, Resumed)]
        self.answers = tuple(
            dict.fromkeys(event.answers for _, event in resumed if event.answers is not None)
        )
        self.taken = {event.inbox_id: seq for seq, event in resumed if event.inbox_id is not None}

    @property
    def goes_on(self) -> bool:
        """Whether nothing but a driver is missing: nobody else would wake the run."""
        if self.state.workflow is None or not self.known or self.ended:
            return False
        call = self.state.open_call
        resting = self.state.park or self.state.sleep
        return resting is None and (call is None or call.effect != "write")

    @property
    def open_seq(self) -> int | None:
        """The call whose key the run holds, if it has a declared one."""
        rest = self.state.park or self.state.sleep
        seq = rest.call.seq if rest is not None and rest.call is not None else None
        if self.state.open_call is not None:
            seq = self.state.open_call.seq
        intent = None if seq is None or self.ended else self.events.get(seq)
        key = intent.idempotency_key if isinstance(intent, ToolCallRequested) else None
        return seq if key is not None and key.startswith("{") else None


def _decoded(run_id: str, row: Row) -> Envelope | None:
    try:
        return decode(row.envelope, run_id=run_id, seq=row.seq)
    except UnsupportedEvent:
        return None


def _check_owner(run_id: str, *records: Signal | LateResult | Claim | Cancel) -> None:
    for one in records:
        if one.run_id != run_id:
            raise CopyRefused(f"a {type(one).__name__.lower()} in it is of run {one.run_id}")


def _check_signals(signals: tuple[Signal, ...], log: _Log) -> None:
    for number, one in enumerate(signals, 1):
        if one.n != number or one.consumed != log.taken.get(number):
            raise CopyRefused(f"signal {one.n} is not where the log has it")
        parse_json(one.payload, what=f"the payload of signal {number}", max_bytes=MAX_OUTPUT_BYTES)


def _check_claims(claims: tuple[Claim, ...], outputs: Mapping[ClaimId, Any], log: _Log) -> None:
    if len({claim.id for claim in claims}) != len(claims):
        raise CopyRefused("a claim is in it twice")
    for claim in claims:
        kept = outputs.get(claim.id)
        detail = misfit(claim, log.events, log.state, None if kept is None else _text(kept))
        if detail is None and claim.state == "failed" and not intended(claim, log.events):
            detail = f"event {claim.intent_seq} is no call with its key"
        if detail is not None:
            raise CopyRefused(f"the claim {claim.id.scope} {claim.id.key} does not fit: {detail}")
    held = {claim.intent_seq for claim in claims if claim.state == "held"}
    if log.open_seq is not None and log.open_seq not in held:
        raise CopyRefused(f"the call at event {log.open_seq} is open, and its claim is missing")


def _objects(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        yield parse_object(line, what=f"line {number}", max_bytes=_MAX_LINE)


def _claim(found: Any) -> Claim:
    return _made(Claim, found, id=_made(ClaimId, found["id"]))


def _timed(kind: type[T], found: Any, name: str) -> T:
    return _made(kind, found, **{name: parse_instant(_text(found[name]))})


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _made(kind: type[T], found: Any, **given: Any) -> T:
    """A record of JSON fields, each of the type that the record declares."""
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} is no object")
    made = kind(**{**found, **given})
    hints = get_type_hints(kind)
    for field in fields(made):  # type: ignore[arg-type]
        if not _is_a(getattr(made, field.name), hints[field.name]):
            raise TypeError(f"{field.name} is {getattr(made, field.name)!r}")
    return made


def _is_a(value: Any, hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_is_a(value, one) for one in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    return type(value) is (NoneType if hint is None else hint)
