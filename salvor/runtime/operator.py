"""What an operator does to runs that rest: look, answer, resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from salvor.errors import OutputRefused, Problem
from salvor.events.claims import ClaimChange
from salvor.events.fold import Park, fold
from salvor.events.log import read_log
from salvor.events.records import Driver, LateResult, RunRow, Settlement, Wait
from salvor.events.skim import Entry, skim_log
from salvor.events.vocabulary import Envelope, Event, Resumed
from salvor.run_errors import AnswerRefused, OutputMisfit, WrongState
from salvor.runtime.claiming import settling
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.recorder import sealed_rows
from salvor.runtime.resolve import Resolution, ResolvedOutput, resolved
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
    are in microseconds since the epoch.
    """

    run_id: str
    status: str
    events: int
    started: int | None
    last_activity: int | None
    workflow: str | None
    driver: Driver | None
    waiting: Wait | None


class Operator:
    """Verbs that need no workflow; each that writes is one transaction (DURABILITY F1)."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def look(self, run_id: str) -> Look:
        """Read and fold a run's log."""
        envelopes, head = await read_log(self._host.store, run_id)
        return Look(envelopes=envelopes, head=head, state=fold(envelopes))

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

    def check_answer(self, look: Look, answer: JsonValue) -> Park:
        """The park that an answer is for, if the answer fits its recorded schema.

        Raises:
            WrongState: the run waits for no answer.
            AnswerRefused: with all violations.
        """
        run_id, park = look.head.run_id, look.state.park
        if look.state.status != "suspended" or park is None:
            raise WrongState(
                f"run {run_id} waits for no answer, it is {look.state.status}.",
                hint="Resume it without one.",
            )
        as_json(answer, what="the answer")
        schema = park.input_schema
        problems = schema_problems(schema, answer) if isinstance(schema, dict) else ()
        if problems:
            raise AnswerRefused(run_id=run_id, problems=problems)
        return park

    async def answer(self, look: Look, answer: JsonValue) -> None:
        """Record the answer to the park the run was seen at."""
        park = self.check_answer(look, answer)
        await self._settle(look, Resumed(input=answer, answers=park.seq), answers=park.seq)

    async def resolve(self, look: Look, resolution: Resolution, tool: FunctionTool | None) -> None:
        """Record what the run's open write did; ``tool`` checks an output."""
        run_id, intent = look.head.run_id, look.state.open_call
        if look.state.status != "needs-reconciliation" or intent is None:
            raise WrongState(
                f"run {run_id} has no open write, it is {look.state.status}.",
                hint="Nothing was recorded.",
            )
        completion, extent = resolved(intent, resolution, overdue=self._overdue(look, tool))
        if isinstance(resolution, ResolvedOutput):
            _check_output(run_id, resolution.output, tool)
        claim = await self._host.store.held_claim(run_id, intent.seq)
        claim_id = None if claim is None else claim.id
        claims = settling(claim_id, completion, run_id, extent)
        await self._settle(look, completion, claims=claims)

    def _overdue(self, look: Look, tool: FunctionTool | None) -> bool:
        limit = None if tool is None else tool.meta.timeout
        since = look.state.pending_since
        if limit is None or since is None:
            return False
        return self._host.clock.now() >= parse_instant(since) + timedelta(seconds=limit)

    async def _settle(
        self,
        look: Look,
        event: Event,
        *,
        claims: tuple[ClaimChange, ...] = (),
        answers: int | None = None,
    ) -> None:
        run_id = look.head.run_id
        rows = sealed_rows(
            (event,),
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
            )
        )

    async def _summary(self, row: RunRow) -> RunSummary:
        workflow = None
        try:
            skim = await skim_log(self._host.store, row.head.run_id)
        except LogError:
            status = "unreadable"
        else:
            status = skim.status
            ref = skim.state.workflow
            workflow = None if ref is None else ref.name
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
        )


def _check_output(run_id: str, output: JsonValue, tool: FunctionTool | None) -> None:
    as_json(output, what="the output")
    if tool is None:
        return
    problems = schema_problems(tool.output_schema, output) if tool.output_schema else ()
    if not problems:
        try:
            tool.decode_output(output)
            return
        except OutputRefused as error:
            problems = (Problem(pointer="", expected=tool.name + "'s output", got=error.message),)
    raise OutputMisfit(run_id=run_id, tool=tool.name, problems=problems)
