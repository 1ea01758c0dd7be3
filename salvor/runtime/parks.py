"""Parks of a workflow: questions, signals, sleeps (DURABILITY D)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from salvor.errors import JsonRefused, OutputRefused
from salvor.events.cursor import Answered, Cursor
from salvor.events.records import Cancel, Signal
from salvor.events.vocabulary import (
    Default,
    Event,
    Resumed,
    SleepCompleted,
    SleepStarted,
    Suspended,
)
from salvor.run_errors import SignalRefused
from salvor.runtime.ending import honoured
from salvor.runtime.host import Host
from salvor.runtime.outcome import parked_at
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Halt, Rest
from salvor.store_errors import Divergence
from salvor.tools.schema import ValueType
from salvor.values import MAX_OUTPUT_BYTES, JsonValue, as_json, format_instant, parse_json


class Missing:
    """The type of `MISSING`: nothing was given, which ``None`` would be."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Parks:
    """Parks one run, and takes what ended its parks."""

    def __init__(self, host: Host, recorder: Recorder, cursor: Cursor, run_id: str) -> None:
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._run_id = run_id
        self.asked: ValueType | None = None

    async def ask(
        self, reason: str, wanted: ValueType, deadline: datetime | None, default: Any
    ) -> Any:
        """The answer of a person; parks the run until there is one."""
        schema = wanted.schema
        step = self._cursor.suspend(reason, schema)
        if isinstance(step, Answered):
            return self._decoded(wanted, step)
        self.asked = wanted
        if step is not None:
            raise Halt(Rest(parked_at(self._run_id, step.seq, step.park)))
        event = Suspended(
            reason=reason,
            input_schema=schema,
            deadline=None if deadline is None else format_instant(deadline),
            default=_default(wanted, deadline, default),
        )
        return await self._park(event, deadline)

    async def signal(
        self, name: str, wanted: ValueType, deadline: datetime | None, default: Any
    ) -> Any:
        """The payload of the next signal of that name; parks the run until there is one."""
        reason = f"signal {name}"
        step = self._cursor.suspend(reason, wanted.schema, signal=name)
        if isinstance(step, Answered):
            return self._signalled(name, wanted, step)
        if step is not None:
            raise Halt(Rest(parked_at(self._run_id, step.seq, step.park)))
        event = Suspended(
            reason=reason,
            input_schema=wanted.schema,
            signal=True,
            name=name,
            deadline=None if deadline is None else format_instant(deadline),
            default=_default(wanted, deadline, default),
        )
        seq = self._recorder.next_seq
        payload, by = await self._taken(event, deadline)
        return self._signalled(name, wanted, Answered(seq=seq, park=event, input=payload, by=by))

    async def sleep(self, instant: datetime) -> None:
        """Park the run until an instant; one that has passed is recorded and gone past."""
        wake_at = format_instant(instant)
        step = self._cursor.sleep(wake_at)
        if isinstance(step, Answered):
            return
        if step is not None:
            raise Halt(Rest(parked_at(self._run_id, step.seq, step.park)))
        event = SleepStarted(wake_at=wake_at)
        if instant <= self._host.clock.now():
            await self._recorded(event, SleepCompleted())
            return
        await self._park(event, instant)

    async def _park(self, event: Suspended | SleepStarted, due: datetime | None) -> Any:
        seq = self._recorder.next_seq
        await self._recorded(event, due=due)
        raise Halt(Rest(parked_at(self._run_id, seq, event)))

    async def _taken(
        self, event: Suspended, deadline: datetime | None
    ) -> tuple[JsonValue, str | None]:
        """The oldest signal in the inbox; looking and parking are one transaction (D3)."""
        seq = self._recorder.next_seq
        seen = await self._recorded(event, due=deadline, unless_signal=event.name)
        if seen is None:
            raise Halt(Rest(parked_at(self._run_id, seq, event)))
        resumed = resumed_by(seen, seq)
        await self._recorded(event, resumed, consumes=seen.n)
        return resumed.input, seen.by

    async def _recorded(
        self,
        *events: Event,
        due: datetime | None = None,
        unless_signal: str | None = None,
        consumes: int | None = None,
    ) -> Signal | None:
        self._host.check_interrupt(self._run_id)
        seen = await self._recorder.append(
            *events, due=due, unless_signal=unless_signal, consumes=consumes, heeds_cancel=True
        )
        if isinstance(seen, Cancel):
            raise Halt(Rest(await honoured(self._recorder, seen)))
        assert seen is None or isinstance(seen, Signal)
        return seen

    def _signalled(self, name: str, wanted: ValueType, step: Answered) -> Any:
        try:
            return wanted.decode(step.input)
        except OutputRefused as error:
            raise SignalRefused(run_id=self._run_id, name=name, problems=error.problems) from None

    def _decoded(self, wanted: ValueType, step: Answered) -> Any:
        try:
            return wanted.decode(step.input)
        except OutputRefused as error:
            raise Divergence(
                run_id=self._run_id,
                position=self._cursor.position - 1,
                field="answer",
                recorded="an answer of another type",
                requested=error.message,
            ) from error


def resumed_by(signal: Signal, park_seq: int) -> Resumed:
    """The end of a park by a signal."""
    what = f"the payload of signal {signal.n}"
    payload = parse_json(signal.payload, what=what, max_bytes=MAX_OUTPUT_BYTES)
    return Resumed(input=payload, answers=park_seq, by=signal.by, inbox_id=signal.n)


def checked_deadline(deadline: datetime | None, default: Any) -> None:
    """Refuse a deadline that nothing follows from, and a default that nothing leads to.

    Raises:
        ValueError: saying what is missing.
    """
    if deadline is None and default is not MISSING:
        raise ValueError("a default needs a deadline: without one it is never used.")
    if deadline is None:
        return
    check_instant(deadline, what="a deadline")
    if default is MISSING:
        raise ValueError("a deadline needs a default, which answers once it has passed.")


def check_instant(instant: object, *, what: str) -> None:
    """Refuse what is no moment that a log can hold.

    Raises:
        ValueError: saying what it has to be, and what came.
    """
    if not isinstance(instant, datetime) or instant.tzinfo is None:
        raise ValueError(f"{what} has to be an aware datetime, got {instant!r}.")
    try:
        format_instant(instant)
    except JsonRefused as error:
        raise ValueError(f"{what} cannot be: {error.message}") from None


def _default(wanted: ValueType, deadline: datetime | None, default: Any) -> Default | None:
    return None if deadline is None else Default(value=wanted.encode(default))


def checked_name(name: object) -> None:
    """Refuse what cannot name a signal.

    Raises:
        ValueError: it is empty, or no text.
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a signal's name has to be text that is not blank, got {name!r}.")
    as_json(name, what="the name of the signal")
