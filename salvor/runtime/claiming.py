"""Getting a declared key: take it with the intent, copy, refuse, or wait (DURABILITY E)."""

from __future__ import annotations

import anyio

from salvor.errors import Extent
from salvor.events.claims import Claim, ClaimId, SettleClaim, TakeClaim, judge
from salvor.events.codec import decode
from salvor.events.outputs import Given, output_at
from salvor.events.records import Wait
from salvor.events.vocabulary import (
    Origin,
    ToolCallCompleted,
    ToolCallRequested,
    failure_output,
)
from salvor.run_errors import UnknownRun
from salvor.runtime.host import Host
from salvor.runtime.outcome import Parked
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Halt, Rest
from salvor.store_errors import MalformedLog, TamperEvident
from salvor.values import MAX_OUTPUT_BYTES, JsonValue, content_hash, integral, parse_json

_POLL_FIRST = 0.005
_POLL_MAX = 0.25


def taking(claim_id: ClaimId | None, intent: ToolCallRequested, run_id: str) -> TakeClaim | None:
    """The claim change that goes with an intent, if its call has a declared key."""
    if claim_id is None:
        return None
    return TakeClaim(
        id=claim_id,
        effect=intent.effect,
        run_id=run_id,
        intent_seq=intent.seq,
        input_hash=content_hash(integral(intent.input)),
    )


def settling(
    claim_id: ClaimId | None, completion: ToolCallCompleted, run_id: str, extent: Extent | None
) -> tuple[SettleClaim, ...]:
    """What becomes of the claim with the completion of its intent (DURABILITY E3).

    ``extent`` is ``None`` for a real output.
    """
    if claim_id is None:
        return ()
    return (
        SettleClaim(
            id=claim_id,
            run_id=run_id,
            intent_seq=completion.seq,
            to="committed" if extent is None else "released" if extent == "no" else "failed",
            completion_seq=completion.seq + 1,
            extent=None if extent == "no" else extent,
            output_hash=content_hash(completion.output) if extent is None else None,
        ),
    )


def ending_park(
    claim: Claim | None, run_id: str, completion_seq: int, output: JsonValue, *, fits: bool
) -> tuple[SettleClaim, ...]:
    """What becomes of a key whose tool parked its run, with the end of the park (E3).

    Args:
        claim: The claim that the call's intent holds.
        run_id: The run.
        completion_seq: The position of the event that ends the park.
        output: What the call gives then.
        fits: Whether that is an output of its tool; otherwise the call acted and gives none.
    """
    if claim is None:
        return ()
    return (
        SettleClaim(
            id=claim.id,
            run_id=run_id,
            intent_seq=claim.intent_seq,
            to="committed" if fits else "failed",
            completion_seq=completion_seq,
            extent=None if fits else "yes",
            output_hash=content_hash(output) if fits else None,
        ),
    )


def abandoned_claim(
    claim: Claim | None, run_id: str, completion_seq: int, extent: Extent
) -> tuple[SettleClaim, ...]:
    """What becomes of a held key whose run is ended for good (F4)."""
    if claim is None:
        return ()
    return (
        SettleClaim(
            id=claim.id,
            run_id=run_id,
            intent_seq=claim.intent_seq,
            to="released" if extent == "no" else "failed",
            completion_seq=completion_seq,
            extent=None if extent == "no" else extent,
        ),
    )


class Claiming:
    """What to do when the key of a call is not free."""

    def __init__(self, host: Host, recorder: Recorder, run_id: str) -> None:
        self._host = host
        self._recorder = recorder
        self._run_id = run_id

    async def answer(
        self, seen: Claim, intent: ToolCallRequested, take: TakeClaim
    ) -> ToolCallCompleted | None:
        """The completion that goes with the intent instead of an execution.

        ``None``: the key may be free now, try again.

        Raises:
            Halt: the holder was waited for in vain; the run is parked.
        """
        verdict = judge(seen, take)
        if verdict == "busy":
            await self._wait(seen, intent.tool)
            return None
        if verdict == "copy":
            return ToolCallCompleted(
                seq=intent.seq,
                output=await self._output(seen),
                deduplicated_from=Origin(run_id=seen.run_id, seq=seen.intent_seq),
            )
        return _refusal(seen, intent, collision=verdict == "collision")

    async def _wait(self, seen: Claim, tool: str) -> None:
        if seen.run_id == self._run_id:
            raise MalformedLog(
                run_id=self._run_id,
                seq=seen.intent_seq,
                detail="its key is held although the call is not open",
            )
        clock = self._host.clock
        until = clock.boot() + self._host.claim_wait
        delay = _POLL_FIRST
        while clock.boot() < until:
            await anyio.sleep(delay)
            self._host.check_interrupt(self._run_id)
            delay = min(delay * 2, _POLL_MAX)
            claim = await self._host.store.claim(seen.id)
            if claim is None or claim.state != "held":
                return
        if await self._host.store.wait(self._recorder.fence, seen.id, tool=tool):
            raise Halt(Rest(self._parked(seen, tool)))

    def _parked(self, seen: Claim, tool: str) -> Parked:
        return Parked(
            run_id=self._run_id,
            reason=f"{tool} with this key is being executed by run {seen.run_id}",
            waiting_for=Wait(
                run_id=self._run_id,
                claim=seen.id,
                tool=tool,
                holder_run=seen.run_id,
                since=self._host.clock.now(),
            ),
        )

    async def _output(self, claim: Claim) -> JsonValue:
        """The output the claim's holder recorded, checked against the hash in its row."""
        seq = claim.completion_seq
        found = await self._kept(claim) if seq is None else await self._logged(claim, seq)
        if found is not None and content_hash(found.value) == claim.output_hash:
            return found.value
        raise TamperEvident(
            run_id=claim.run_id,
            seq=claim.intent_seq if seq is None else seq,
            detail="it is not the output that was claimed for",
        )

    async def _logged(self, claim: Claim, seq: int) -> Given | None:
        """The output in the holder's log, or what was kept of it when the log was removed."""
        try:
            page = await self._host.store.read(claim.run_id, after=seq - 2, limit=2)
        except UnknownRun:
            return await self._kept(claim)
        events = {
            row.seq: decode(row.envelope, run_id=claim.run_id, seq=row.seq).event
            for row in page.rows
        }
        return output_at(events, seq)

    async def _kept(self, claim: Claim) -> Given | None:
        text = await self._host.store.settled_output(claim)
        return None if text is None else Given(parse_json(text, max_bytes=MAX_OUTPUT_BYTES))


def _refusal(seen: Claim, intent: ToolCallRequested, *, collision: bool) -> ToolCallCompleted:
    extent: Extent = "no" if collision else seen.extent or "unknown"
    message = (
        f"its key was used by run {seen.run_id} with other arguments; nothing was executed"
        if collision
        else f"its key belongs to a call of run {seen.run_id} (event {seen.intent_seq}) that "
        f"failed (it may have done: {extent}); nothing was executed now"
    )
    return ToolCallCompleted(
        seq=intent.seq,
        output=failure_output(kind="claim", message=message, attempts=0),
        outcome="error",
        extent=extent,
    )
