"""What lets a parked run go on without a driver: signals, the clock, a cancel (DURABILITY D)."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from salvor.events.claims import ClaimChange
from salvor.events.fold import Park, Sleep
from salvor.events.outputs import slept
from salvor.events.records import Cancel, PutOff, Settlement, Signal
from salvor.events.vocabulary import (
    TERMINAL,
    Event,
    ParkedCall,
    Resumed,
    SleepCompleted,
)
from salvor.run_errors import AnswerConflict, DeadlinePassed, LeaseHeld, NotYet
from salvor.runtime.claiming import abandoned_claim, ending_park
from salvor.runtime.driving import Driving
from salvor.runtime.ending import abandoning
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.parked_value import misfits
from salvor.runtime.parks import resumed_by
from salvor.runtime.recorder import sealed_rows
from salvor.runtime.session_log import is_session
from salvor.store_errors import Conflict
from salvor.values import JsonValue, parse_instant

Resting: TypeAlias = Park | Sleep
DEADLINE = "deadline"


class Waking:
    """Ends parks whose time has come; each end is one transaction that only one can win."""

    def __init__(self, host: Host, driving: Driving) -> None:
        self._host = host
        self._driving = driving

    async def woken(self, look: Look) -> bool:
        """End the park a run rests at, if something does; whether something did.

        A cancel comes first, then a deadline, then a signal: what the store's clock has
        decided does not depend on who looks first.
        """
        rest = look.state.park or look.state.sleep
        if rest is None:
            return False
        cancel = await self._host.store.cancelled(look.head.run_id)
        if cancel is not None:
            await self.cancelled(look, cancel)
            return True
        if isinstance(rest, Sleep):
            return await self._slept(look, rest)
        return await self._defaulted(look, rest) or await self._signalled(look, rest)

    async def cancelled(self, look: Look, cancel: Cancel) -> None:
        """End a run that rests at a park, or a session between its calls, as a cancel asks."""
        rest = look.state.park or look.state.sleep
        call = look.state.open_call if rest is None else rest.call
        claims = await self._abandoned(None if call is None else call.seq, look)
        answers = rest.seq if isinstance(rest, Park) else None
        await self.settle(look, abandoning(cancel), claims=claims, answers=answers)

    async def _slept(self, look: Look, sleep: Sleep) -> bool:
        claims = await self._claims(sleep.call, look, slept(sleep.wake_at))
        try:
            await self.settle(
                look, SleepCompleted(), claims=claims, not_before=parse_instant(sleep.wake_at)
            )
        except NotYet:
            return False
        return True

    async def _defaulted(self, look: Look, park: Park) -> bool:
        if park.deadline is None or park.default is None:
            return False
        event = Resumed(input=park.default.value, answers=park.seq, by=DEADLINE)
        try:
            # At the very instant an answer counts too: whoever is first.
            await self.settle(
                look,
                event,
                claims=await self._claims(park.call, look, event.input),
                answers=park.seq,
                not_before=parse_instant(park.deadline),
            )
        except NotYet:
            return False
        return True

    async def _signalled(self, look: Look, park: Park) -> bool:
        if park.signal is None:
            return False
        signal = await self._next(look.head.run_id, park.signal)
        if signal is None:
            return False
        event = resumed_by(signal, park.seq)
        deadline = None if park.deadline is None else parse_instant(park.deadline)
        try:
            await self.settle(
                look,
                event,
                claims=await self._claims(park.call, look, event.input),
                answers=park.seq,
                consumes=signal.n,
                not_after=deadline,
            )
        except (DeadlinePassed, AnswerConflict):
            return False
        return True

    async def _next(self, run_id: str, name: str) -> Signal | None:
        inbox = await self._host.store.inbox(run_id)
        return next((one for one in inbox if one.name == name and one.consumed is None), None)

    async def _claims(
        self, call: ParkedCall | None, look: Look, output: JsonValue
    ) -> tuple[ClaimChange, ...]:
        """What becomes of the key that a tool's park holds (E3)."""
        if call is None or call.seq is None:
            return ()
        claim = await self._host.store.held_claim(look.head.run_id, call.seq)
        schema = None if look.state.park is None else look.state.park.input_schema
        fits = not misfits(self._driving.parked_tool(look), schema, output)
        return ending_park(claim, look.head.run_id, look.head.length, output, fits=fits)

    async def _abandoned(self, seq: int | None, look: Look) -> tuple[ClaimChange, ...]:
        if seq is None:
            return ()
        claim = await self._host.store.held_claim(look.head.run_id, seq)
        return abandoned_claim(claim, look.head.run_id, look.head.length, "unknown")

    async def answered(
        self,
        look: Look,
        park: Park,
        answer: JsonValue,
        *,
        by: str | None = None,
        caller: str | None = None,
    ) -> None:
        """Record a person's answer to the park the run was seen at (D1).

        Raises:
            AnswerConflict, DeadlinePassed: somebody or something answered first.
        """
        event = Resumed(input=answer, answers=park.seq, by=by, caller=caller)
        await self.settle(
            look,
            event,
            claims=await self._claims(park.call, look, answer),
            answers=park.seq,
            not_after=None if park.deadline is None else parse_instant(park.deadline),
        )

    async def settle(
        self,
        look: Look,
        *events: Event,
        claims: tuple[ClaimChange, ...] = (),
        answers: int | None = None,
        not_before: datetime | None = None,
        not_after: datetime | None = None,
        due: datetime | None = None,
        put_off: PutOff | None = None,
        consumes: int | None = None,
        force: bool = False,
    ) -> None:
        """Add events to a run that rests, in one transaction (F1)."""
        run_id = look.head.run_id
        ends = bool(events) and isinstance(events[-1], TERMINAL)
        goes_on = bool(events) and not ends
        if goes_on and not is_session(look.envelopes):  # which its own loop goes on with
            due = self._host.clock.now()  # whoever recorded it may not drive the run
        rows = sealed_rows(
            events,
            run_id=run_id,
            length=look.head.length,
            prev=look.head.head_hash,
            last=look.last,
            clock=self._host.clock,
        )
        await self._host.store.settle(
            Settlement(
                run_id=run_id,
                length=look.head.length,
                prev_hash=look.head.head_hash,
                rows=rows,
                nonce=self._host.ids.token(),
                claims=claims,
                answers=answers,
                not_before=not_before,
                not_after=not_after,
                due=due,
                put_off=put_off,
                consumes=consumes,
                ends=ends,
                force=force,
            )
        )

    async def put_off(self, look: Look) -> None:
        """Say anew when a run that rests is due: it was looked at, and nothing was to do.

        Whatever came meanwhile, and made it due, counts.
        """
        state = look.state
        at = state.sleep.wake_at if state.sleep else state.park.deadline if state.park else None
        then = None if at is None else parse_instant(at)
        try:
            await self.settle(look, put_off=PutOff(seen=look.head.due_at, at=then))
        except (Conflict, LeaseHeld):
            return
