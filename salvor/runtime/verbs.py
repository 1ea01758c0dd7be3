"""What people and other programs do to runs: answer, signal, cancel, wake, resolve, abandon."""

from __future__ import annotations

from typing import Any

from salvor.errors import Extent, JsonRefused, SalvorError, listed
from salvor.events.fold import Park, RunState
from salvor.events.records import Cancel, Signal
from salvor.run_errors import (
    AnswerConflict,
    AnswerRefused,
    LeaseHeld,
    RunEnded,
    WrongState,
)
from salvor.runtime.looking import Look
from salvor.runtime.operator import Abandonment, History, RunSummary, check_fits, refuse_answered
from salvor.runtime.operator_claims import OperatorClaims
from salvor.runtime.outcome import Parked
from salvor.runtime.parked_value import misfits
from salvor.runtime.parks import checked_name
from salvor.runtime.resolve import Resolution, ResolvedOutput
from salvor.runtime.session_log import is_session
from salvor.runtime.wake_verbs import WakeVerbs
from salvor.runtime.words import check_limit, check_words, too_large
from salvor.runtime.workflow import Definition
from salvor.store_errors import Conflict
from salvor.tools.function import FunctionTool
from salvor.values import JsonValue, as_json, canonical_json, parse_run_id


class Verbs(WakeVerbs):
    """The verbs of `Runtime` that make no call."""

    claims: OperatorClaims

    async def answer(
        self,
        run_id: str,
        answer: JsonValue,
        *,
        park: int | None = None,
        by: str | None = None,
        workflow: Any = None,
    ) -> RunState:
        """Record the answer to what a run waits for; whoever wakes it goes on.

        Args:
            run_id: Which run.
            answer: The answer as JSON.
            park: The position of the park it is for (DURABILITY D1); the one seen by default.
            by: Who answers.
            workflow: Its function, to check the type; by default it is loaded, if it can be.

        Raises:
            WrongState: the run waits for no person's answer.
            AnswerRefused: it does not fit; the run is still parked.
            AnswerConflict, DeadlinePassed: somebody or something answered first.
        """
        look = await self._operator.look(parse_run_id(run_id))
        return (await self._answered(look, answer, park=park, by=by, workflow=workflow)).state

    async def _answered(
        self, look: Look, answer: JsonValue, *, park: int | None, by: str | None, workflow: Any
    ) -> Look:
        check_words(name=by)
        found = self._operator.check_answer(look, answer, park)
        if found.call is None:
            definition = self._loaded(look, workflow)
            if definition is not None:
                await self._driving.check_answer(definition, look, answer)
        else:
            self._check_value(look, found, answer)
        await self._record_answer(look, found, answer, by)
        return await self._operator.look_again(look)

    async def _record_answer(
        self, look: Look, park: Park, answer: JsonValue, by: str | None
    ) -> None:
        try:
            await self._waking.answered(look, park, answer, by=by)
        except (Conflict, LeaseHeld):
            refuse_answered(await self._operator.look_again(look), park.seq)
            raise

    async def approve(
        self,
        run_id: str,
        approved: bool,
        *,
        park: int | None = None,
        by: str | None = None,
        note: str | None = None,
    ) -> RunState:
        """Say yes or no to the call a run asks approval for (DURABILITY D2).

        Raises:
            WrongState: it asks for none.
            AnswerConflict, DeadlinePassed: somebody or something answered first.
        """
        check_words(name=by, note=note)
        look = await self._operator.look(parse_run_id(run_id))
        refuse_answered(look, park)
        if look.state.park is None or not look.state.park.wants_approval:
            raise WrongState(
                f"run {run_id} asks for no approval, it is {look.state.status}.",
                hint="Nothing was recorded.",
            )
        said: JsonValue = (
            {"approved": approved}
            if note is None
            else {
                "approved": approved,
                "note": note,
            }
        )
        found = self._operator.check_answer(look, said, park)
        await self._record_answer(look, found, said, by)
        return await self.state(run_id)

    async def signal(
        self,
        run_id: str,
        name: str,
        payload: JsonValue = None,
        *,
        sender_id: str | None = None,
        by: str | None = None,
    ) -> int:
        """Put a signal into a run's inbox; its number there (DURABILITY D3, D5).

        Args:
            run_id: Which run.
            name: The signal's name.
            payload: What it carries, as JSON.
            sender_id: The sender's own id for this sending: the same one is sent once.
            by: Who sends it.

        Raises:
            AnswerRefused: the run waits for it, and the payload does not fit.
            SignalConflict: the sender's id was used for another signal.
            RunEnded: the run has ended.
        """
        checked_name(name)
        check_words(name=by, sender_id=sender_id)
        problems = too_large(as_json(payload, what="the payload"))
        if problems:
            raise JsonRefused(f"the payload cannot be kept: {listed(problems)}.")
        run_id = parse_run_id(run_id)
        look = await self._operator.look(run_id)
        park = look.state.park
        if park is not None and park.signal == name:
            check_fits(run_id, park, payload)
            self._check_value(look, park, payload)
        signal = Signal(
            run_id=run_id,
            name=name,
            payload=canonical_json(payload),
            sent_at=self._host.clock.now(),
            sender_id=sender_id,
            by=by,
        )
        return await self._host.store.signal(signal)

    async def cancel(
        self, run_id: str, *, reason: str | None = None, by: str | None = None
    ) -> RunState:
        """Ask for a run's end: at its next intent or park, never inside a write (D5).

        Raises:
            RunEnded: it has ended.
            WrongState: it needs reconciliation first.
        """
        check_words(name=by, reason=reason)
        run_id = parse_run_id(run_id)
        look = await self._operator.look(run_id)
        look.refuse_unbegun()
        if look.state.status == "needs-reconciliation" and look.head.lease is None:
            raise WrongState(
                f"run {run_id} has an open write, so it cannot be cancelled.",
                hint="Resolve it first, or abandon the run.",
            )
        cancel = Cancel(run_id=run_id, reason=reason, by=by, asked_at=self._host.clock.now())
        await self._host.store.cancel(cancel)
        between = look.state.open_call is None or is_session(look.envelopes)
        if look.head.lease is None and (between or look.state.park or look.state.sleep):
            await self._end(look, cancel)
        return await self.state(run_id)

    async def _end(self, look: Look, cancel: Cancel) -> None:
        """End a run that rests; where somebody was faster, the cancel stands and they heed it."""
        first = await self._host.store.cancelled(look.head.run_id)
        try:
            await self._waking.cancelled(look, first or cancel)
        except (AnswerConflict, Conflict, LeaseHeld, RunEnded):
            return

    async def resolve(
        self,
        run_id: str,
        resolution: Resolution,
        *,
        tool: FunctionTool | None = None,
        by: str | None = None,
    ) -> RunState:
        """Record what an open write did; the run is due then, and `resume` or `wake` goes on.

        Args:
            run_id: Which run.
            resolution: What a person found out.
            tool: The tool that was called; by default it is looked up. An output is checked
                against its schema before anything is recorded.
            by: Who says so.

        Raises:
            WrongState: the run has no open write.
            LeaseHeld: somebody drives it.
            NotDoneRefused: "never happened" without the word that the worker is dead.
            Proved: "never happened", and a late result shows that it did.
        """
        check_words(name=by)
        look = await self._operator.look(parse_run_id(run_id))
        if tool is None:
            tool = self._driving.tool_of(look, needed=isinstance(resolution, ResolvedOutput))
        await self._operator.resolve(look, resolution, tool, by)
        return await self.state(run_id)

    async def abandon(
        self,
        run_id: str,
        *,
        reason: str | None = None,
        by: str | None = None,
        happened: Extent | None = None,
        worker_dead: bool = False,
        force: bool = False,
    ) -> RunState:
        """End a run for good (DURABILITY F1, F4).

        Args:
            run_id: Which run.
            reason: Why.
            by: Who says so.
            happened: What its open call did; needed where it holds a key.
            worker_dead: The word that nobody is left who could still do it.
            force: End it although somebody drives it; that driver is fenced off.

        Raises:
            RunEnded: it has ended.
            LeaseHeld: somebody drives it, and it is not forced.
            WrongState, NotDoneRefused, Proved: what its open call did has to be said, cannot be
                said yet, or is known to be otherwise.
        """
        check_words(name=by, reason=reason)
        look = await self._operator.look(parse_run_id(run_id))
        wish = Abandonment(
            reason=reason, by=by, happened=happened, worker_dead=worker_dead, force=force
        )
        await self._operator.abandon(look, wish)
        return await self.state(run_id)

    def _check_value(self, look: Look, park: Park, value: JsonValue) -> None:
        """See that what ends the park of a tool is an output of it, if it can be found."""
        tool = self._driving.parked_tool(look)
        problems = () if tool is None else misfits(tool, park.input_schema, value)
        if problems:
            raise AnswerRefused(run_id=look.head.run_id, problems=problems)

    def _loaded(self, look: Look, workflow: Any) -> Definition | None:
        try:
            return self._driving.definition(look.state, workflow)
        except SalvorError:
            return None

    async def state(self, run_id: str) -> RunState:
        """Where a run stands, folded from its verified log."""
        return (await self._operator.look(parse_run_id(run_id))).state

    async def parked(self, run_id: str) -> Parked | None:
        """The park a run rests at, as a drive would give it back."""
        return (await self._operator.look(parse_run_id(run_id))).parked()

    async def history(self, run_id: str) -> History:
        """A run's verified log, and late results."""
        return await self._operator.history(parse_run_id(run_id))

    async def inbox(self, run_id: str) -> list[Signal]:
        """The signals that were sent to a run, in their order."""
        return list(await self._host.store.inbox(parse_run_id(run_id)))

    async def list(self, *, after: str | None = None, limit: int = 100) -> list[RunSummary]:
        """The runs of the store, oldest first; a damaged one hides no other.

        Args:
            after: The last run id of the page before.
            limit: Runs in a page.
        """
        check_limit(limit)
        return await self._operator.list(after, limit)
