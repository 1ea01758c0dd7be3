"""What an operator does to runs that rest: look, answer, resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice

from salvor.errors import Extent, JsonRefused, OutputRefused, Problem, listed
from salvor.events.claims import Claim
from salvor.events.fold import Park, fold
from salvor.events.log import read_log, read_on
from salvor.events.records import Driver, LateResult, RunRow, Wait
from salvor.events.skim import Entry, skim_log
from salvor.events.vocabulary import Envelope, Resumed, RunAbandoned, UnresolvedWrite
from salvor.events.words import EXTENTS, known
from salvor.run_errors import AnswerConflict, AnswerRefused, OutputMisfit, RunEnded, WrongState
from salvor.runtime.claiming import abandoned_claim, settling
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.proofs import refuse_disproved
from salvor.runtime.resolve import (
    Resolution,
    ResolvedOutput,
    refuse_unless_dead,
    resolved,
    worker_may_live,
)
from salvor.runtime.session_log import session_name
from salvor.runtime.waking import Waking
from salvor.runtime.words import too_large
from salvor.store_errors import LogError
from salvor.tools.check import schema_problems
from salvor.tools.function import FunctionTool
from salvor.values import JsonValue, as_json, parse_instant


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A run's log, and what drivers got to know after they had lost the run.

    ``entries`` also hold the events that only a newer salvor knows; ``texts`` are all of
    them as they are stored.
    """

    entries: Sequence[Entry]
    texts: Sequence[str]
    late: Sequence[LateResult]

    @property
    def envelopes(self) -> list[Envelope]:
        """The events that are known here."""
        return [entry for entry in self.entries if isinstance(entry, Envelope)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One run in a listing.

    ``status`` is ``unreadable`` when its log cannot be read, and ``unsupported`` when only a
    newer salvor knows where it stands.

    An open write under a live lease is ``awaiting-tool``: its driver is still at it. Times
    are in microseconds since the epoch. ``session`` is the name of a session.
    """

    run_id: str
    status: str
    events: int
    started: int | None
    last_activity: int | None
    workflow: str | None
    driver: Driver | None
    waiting: Wait | None
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandonment:
    """The wish to end a run for good.

    ``happened`` is what its open call, or the one that parked it, did; ``worker_dead`` the
    word that nobody is left who could still do it; ``force`` ends a run that is driven.
    """

    reason: str | None = None
    by: str | None = None
    happened: Extent | None = None
    worker_dead: bool = False
    force: bool = False


class Operator:
    """Verbs that need no workflow; each that writes is one transaction (DURABILITY F1)."""

    def __init__(self, host: Host, waking: Waking) -> None:
        self._host = host
        self._waking = waking

    async def look(self, run_id: str) -> Look:
        """Read and fold a run's log."""
        envelopes, head = await read_log(self._host.store, run_id)
        return Look(envelopes=envelopes, head=head, state=fold(envelopes))

    async def look_again(self, look: Look) -> Look:
        """Where the run stands by now: only what was added since is read."""
        envelopes, head = await read_on(self._host.store, look.envelopes, look.head)
        state = fold(islice(envelopes, look.head.length, None), look.state)
        return Look(envelopes=envelopes, head=head, state=state)

    async def history(self, run_id: str) -> History:
        """A run's log and late results."""
        skim = await skim_log(self._host.store, run_id)
        return History(
            entries=skim.entries,
            texts=skim.texts,
            late=await self._host.store.late(run_id),
        )

    async def list(self, after: str | None, limit: int) -> list[RunSummary]:
        """One page of runs, oldest first."""
        rows = await self._host.store.runs(after=after, limit=limit)
        return [await self._summary(row) for row in rows]

    def check_answer(self, look: Look, answer: JsonValue, park_seq: int | None = None) -> Park:
        """The park that an answer is for, if the answer fits its recorded schema.

        Raises:
            WrongState: the run waits for no person's answer, or asks nothing at that position.
            AnswerConflict: the park that is named was answered before.
            AnswerRefused: with all violations.
        """
        run_id, park = look.head.run_id, look.state.park
        refuse_answered(look, park_seq)
        if park is None:
            raise WrongState(
                f"run {run_id} waits for no answer, it is {look.state.status}.",
                hint="Resume it without one.",
            )
        if park.signal is not None:
            raise WrongState(
                f"run {run_id} waits for the signal {park.signal!r}, not for a person.",
                hint=f"`salvor signal {run_id} {park.signal}` sends it.",
            )
        if park_seq is not None and park_seq != park.seq:
            raise WrongState(
                f"run {run_id} asks nothing at event {park_seq}, it waits at event {park.seq}.",
                hint="Nothing was recorded.",
            )
        check_fits(run_id, park, answer)
        return park

    async def resolve(
        self,
        look: Look,
        resolution: Resolution,
        tool: FunctionTool | None,
        by: str | None = None,
    ) -> None:
        """Record what the run's open write did; ``tool`` checks an output."""
        run_id, intent = look.head.run_id, look.state.open_call
        if look.state.status != "needs-reconciliation" or intent is None:
            raise WrongState(
                f"run {run_id} has no open write, it is {look.state.status}.",
                hint="Nothing was recorded.",
            )
        await refuse_disproved(self._host, run_id, intent.seq, intent.tool, resolution)
        completion, extent = resolved(intent, resolution, overdue=self.overdue(look))
        if isinstance(resolution, ResolvedOutput):
            check_output(run_id, resolution.output, tool)
        claim = await self._host.store.held_claim(run_id, intent.seq)
        claim_id = None if claim is None else claim.id
        claims = settling(claim_id, completion, run_id, extent)
        completion = replace(completion, settled_caller=by)
        await self._waking.settle(look, completion, claims=claims)

    async def abandon(self, look: Look, wish: Abandonment) -> None:
        """End a run for good (F1, F4).

        Raises:
            RunEnded: it has ended.
            LeaseHeld: somebody drives it, and it is not forced.
            WrongState: it holds a key, and nobody said what its call did.
            NotDoneRefused: "nothing happened" without the word that the worker is dead.
            Proved: "nothing happened", and something did.
        """
        look.refuse_unbegun()
        state, run_id = look.state, look.head.run_id
        if wish.happened is not None:
            known(wish.happened, EXTENTS, "what it did")
        if state.ended:
            raise RunEnded(run_id)
        call = state.open_call
        force = wish.force
        if call is not None:
            await refuse_disproved(self._host, run_id, call.seq, call.tool, wish.happened)
        if call is not None and wish.happened == "no" and not wish.worker_dead:
            refuse_unless_dead(call.tool, self.overdue(look))
            if force and look.head.lease is not None:  # fenced off, it goes on with its body
                raise worker_may_live(call.tool, "its run is being driven")
            force = False  # somebody may have taken it over since
        claim = await self._held(look)
        if claim is not None and wish.happened is None:
            raise WrongState(
                f"run {run_id} holds the key {claim.id.key} of {claim.id.scope}, and it has to be "
                "said what its call did.",
                hint="Say --happened, --not-happened or --unknown.",
            )
        claims = abandoned_claim(claim, run_id, look.head.length, wish.happened or "unknown")
        unresolved = call is not None and call.effect == "write"
        event = RunAbandoned(
            reason=wish.reason,
            unresolved_write=UnresolvedWrite(seq=call.seq, tool=call.tool)
            if unresolved and call is not None
            else None,
            caller=wish.by,
        )
        await self._waking.settle(look, event, claims=claims, force=force)

    async def _held(self, look: Look) -> Claim | None:
        """The claim that the run's open call, or the park of its tool, holds."""
        state = look.state
        rest = state.park or state.sleep
        parked = rest.call.seq if rest is not None and rest.call is not None else None
        seq = state.open_call.seq if state.open_call is not None else parked
        if seq is None:
            return None
        return await self._host.store.held_claim(look.head.run_id, seq)

    def overdue(self, look: Look) -> bool:
        """Whether the open call has a time limit, and it has passed since the intent."""
        call, since = look.state.open_call, look.state.pending_since
        if call is None or call.limit is None or since is None:
            return False
        return self._host.clock.now() >= parse_instant(since) + timedelta(seconds=call.limit)

    async def _summary(self, row: RunRow) -> RunSummary:
        workflow, session = None, None
        try:
            skim = await skim_log(self._host.store, row.head.run_id)
        except LogError:
            status = "unreadable"
        else:
            status = skim.status
            ref = skim.state.workflow
            workflow = None if ref is None else ref.name
            session = session_name(skim.entries[0] if skim.entries else None)
        driver = None if row.head.lease is None else row.head.lease.driver
        if status == "needs-reconciliation" and driver is not None:
            status = "awaiting-tool"
        return RunSummary(
            run_id=row.head.run_id,
            status=status,
            events=row.head.length,
            started=row.first_recorded_at,
            last_activity=row.last_recorded_at,
            workflow=workflow,
            driver=driver,
            waiting=row.wait,
            session=session,
        )


def check_output(run_id: str, output: JsonValue, tool: FunctionTool | None) -> None:
    """Check an output that a person gives against the tool's type.

    Raises:
        OutputMisfit: with all violations; nothing was recorded.
    """
    as_json(output, what="the output")
    problems = too_large(output)
    if tool is None:
        if problems:
            raise JsonRefused(f"the output is no output of a tool: {listed(problems)}.")
        return
    if not problems and tool.output_schema:
        problems = schema_problems(tool.output_schema, output)
    if not problems:
        try:
            tool.decode_output(output)
            return
        except OutputRefused as error:
            problems = (Problem(pointer="", expected=tool.name + "'s output", got=error.message),)
    raise OutputMisfit(run_id=run_id, tool=tool.name, problems=problems)


def refuse_answered(look: Look, park_seq: int | None) -> None:
    """Refuse an answer to a park that has one, wherever its run stands by now (D1).

    Raises:
        AnswerConflict: somebody or something answered first.
    """
    if park_seq is None:
        return
    for envelope in look.envelopes:
        if isinstance(envelope.event, Resumed) and envelope.event.answers == park_seq:
            raise AnswerConflict(run_id=look.head.run_id, park_seq=park_seq)


def check_fits(run_id: str, park: Park, answer: JsonValue) -> None:
    """Check an answer against the schema of its park.

    Raises:
        AnswerRefused: with all violations; the run is still parked.
    """
    as_json(answer, what="the answer")
    schema = park.input_schema
    problems = too_large(answer)
    if not problems and isinstance(schema, dict):
        problems = schema_problems(schema, answer)
    if problems:
        raise AnswerRefused(run_id=run_id, problems=problems)
