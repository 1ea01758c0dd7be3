"""What an operator sees and says of claims (DURABILITY E6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from salvor.errors import Extent
from salvor.events.claims import Claim, ClaimChange, ClaimId, ClaimState, OverruleClaim
from salvor.events.records import ClaimEntry, Head, LateResult, LoggedClaim, Settlement
from salvor.events.vocabulary import Event, ToolCallCompleted
from salvor.events.words import EXTENTS, known
from salvor.run_errors import ClaimRefused, UnknownClaim
from salvor.runtime.claiming import settling
from salvor.runtime.driving import Driving
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.operator import Operator, check_output
from salvor.runtime.proofs import refuse_disproved
from salvor.runtime.recorder import sealed_rows
from salvor.runtime.resolve import (
    NotDone,
    Resolution,
    ResolvedFailure,
    ResolvedOutput,
    refuse_unless_dead,
    resolved,
)
from salvor.runtime.words import check_limit, check_words
from salvor.store_errors import MalformedLog, TamperEvident
from salvor.values import JsonValue, canonical_json, content_hash

_UNREADABLE = "the log of the run that holds the key is damaged"


class OperatorClaims:
    """Claims, as an operator deals with them: each word goes into the claim log.

    A held claim changes with the log of its holder, in one transaction; any other by itself.
    """

    def __init__(self, host: Host, operator: Operator, driving: Driving) -> None:
        self._host = host
        self._operator = operator
        self._driving = driving

    def id(self, scope: str, key: str, namespace: str | None = None) -> ClaimId:
        """The identity of a claim of this runtime's namespace."""
        return ClaimId(namespace=namespace or self._host.namespace, scope=scope, key=key)

    async def list(
        self, *, state: ClaimState | None = None, after: ClaimId | None = None, limit: int = 100
    ) -> Sequence[Claim]:
        """Claims by scope and key."""
        check_limit(limit)
        return await self._host.store.claims(state=state, after=after, limit=limit)

    async def show(self, claim_id: ClaimId) -> Claim:
        """One claim.

        Raises:
            UnknownClaim: nobody ever claimed that key.
        """
        claim = await self._host.store.claim(claim_id)
        if claim is None:
            raise UnknownClaim(scope=claim_id.scope, key=claim_id.key)
        return claim

    async def late(self, claim: Claim) -> Sequence[LateResult]:
        """What became known too late of the call that has, or had, the key (E7)."""
        found = await self._host.store.late(claim.run_id)
        return [one for one in found if one.intent_seq == claim.intent_seq]

    async def log(self, *, after: int = 0, limit: int = 1000) -> Sequence[LoggedClaim]:
        """What operators said of claims, in order."""
        check_limit(limit)
        return await self._host.store.claim_log(after=after, limit=limit)

    async def release(
        self,
        claim_id: ClaimId,
        *,
        reason: str,
        by: str,
        evidence: str | None = None,
        worker_dead: bool = False,
    ) -> Claim:
        """Say that the call of a key never happened: it can be claimed again.

        Raises:
            LeaseHeld: its holder is being driven.
            NotDoneRefused: its worker may still be at it, and nobody gave their word. Also where
                the run of a failed claim was abandoned with the call open.
            Proved: a late result shows that it happened.
            ClaimRefused: it happened, or its tool parked its run.
        """
        claim = await self.show(claim_id)
        entry = self._entry(claim, "release", reason, evidence, by)
        if claim.state == "held":
            if await self._look(claim) is None:
                change = OverruleClaim(id=claim_id, generation=claim.generation, to="released")
                await self._overrule(claim, change, entry, worker_dead=worker_dead)
            else:
                await self._resolve(claim, NotDone(worker_dead=worker_dead), entry)
        elif claim.state == "failed" and claim.extent != "yes":
            released = OverruleClaim(id=claim_id, generation=claim.generation, to="released")
            await self._overrule(claim, released, entry, worker_dead=worker_dead)
        else:
            raise ClaimRefused(claim, "released", "what happened cannot be made undone")
        return await self.show(claim_id)

    async def settle(
        self,
        claim_id: ClaimId,
        resolution: ResolvedOutput | ResolvedFailure,
        *,
        reason: str,
        by: str,
        evidence: str | None = None,
    ) -> Claim:
        """Say what the call of a key came to; later callers get that.

        Raises:
            LeaseHeld: its holder is being driven.
            OutputMisfit: the output is not one of its tool.
            ClaimRefused: it has an output, or was never made.
        """
        claim = await self.show(claim_id)
        entry = self._entry(claim, "settle", reason, evidence, by)
        readable = await self._look(claim) is not None
        if claim.state == "held" and readable:
            await self._resolve(claim, resolution, entry)
        elif claim.state in ("held", "failed"):
            if isinstance(resolution, ResolvedOutput) and readable:
                await self._check(claim, resolution.output)
            await self._overrule(claim, _settled(claim, resolution), entry)
        else:
            raise ClaimRefused(claim, "settled", "only a held or failed one can be")
        return await self.show(claim_id)

    async def _resolve(self, claim: Claim, resolution: Resolution, entry: ClaimEntry) -> None:
        """Complete the holder's open call, and the claim with it."""
        look = await self._operator.look(claim.run_id)
        intent = look.state.open_call
        if intent is None or intent.seq != claim.intent_seq:
            raise ClaimRefused(
                claim, "changed", f"the tool parked run {claim.run_id}: answer or abandon that"
            )
        await refuse_disproved(self._host, claim.run_id, intent.seq, intent.tool, resolution)
        tool = self._driving.tool_of(look, needed=isinstance(resolution, ResolvedOutput))
        if isinstance(resolution, ResolvedOutput):
            check_output(claim.run_id, resolution.output, tool)
        overdue = self._operator.overdue(look)
        completion, extent = resolved(intent, resolution, overdue=overdue)
        claims = settling(claim.id, completion, claim.run_id, extent)
        await self._settle(look.head, look.last, (completion,), claims, entry)

    async def _check(self, claim: Claim, output: JsonValue) -> None:
        """See that an output is one of the tool whose call had the key: others will get it."""
        look = await self._operator.look(claim.run_id)
        check_output(claim.run_id, output, self._driving.tool_at(look, claim.intent_seq))

    async def _overrule(
        self, claim: Claim, change: OverruleClaim, entry: ClaimEntry, *, worker_dead: bool = False
    ) -> None:
        if change.to == "released":
            at = (claim.run_id, claim.intent_seq)
            await refuse_disproved(self._host, *at, claim.id.scope, "no")
        look = await self._look(claim)
        if look is None:
            if change.to == "released":
                refuse_unless_dead(claim.id.scope, worker_dead, _UNREADABLE)
            head = await self._host.store.head(claim.run_id)
            await self._settle(head, None, (), (replace(change, unreadable=True),), entry)
            return
        call = look.state.open_call
        if change.to == "released" and call is not None and call.seq == claim.intent_seq:
            # Its run was ended by force perhaps, and nobody ever said that the body has (F2).
            refuse_unless_dead(call.tool, worker_dead, "its run was ended with the call open")
        await self._settle(look.head, look.last, (), (change,), entry)

    async def _look(self, claim: Claim) -> Look | None:
        """The run that a claim is of; ``None`` if its log is damaged, and says nothing any more."""
        try:
            return await self._operator.look(claim.run_id)
        except (TamperEvident, MalformedLog):
            return None

    async def _settle(
        self,
        head: Head,
        last: Event | None,
        events: tuple[ToolCallCompleted, ...],
        claims: tuple[ClaimChange, ...],
        entry: ClaimEntry,
    ) -> None:
        rows = sealed_rows(
            events,
            run_id=head.run_id,
            length=head.length,
            prev=head.head_hash,
            last=last,
            clock=self._host.clock,
        )
        await self._host.store.settle(
            Settlement(
                run_id=head.run_id,
                length=head.length,
                prev_hash=head.head_hash,
                rows=rows,
                nonce=self._host.ids.token(),
                claims=claims,
                due=self._host.clock.now(),
                ends=head.ended,
                entry=entry,
            )
        )

    def _entry(
        self, claim: Claim, verb: str, reason: str, evidence: str | None, by: str
    ) -> ClaimEntry:
        check_words(name=by, reason=reason, evidence=evidence)
        if not reason.strip() or not by.strip():
            raise ValueError("a reason and a name are needed: both go into the claim log.")
        return ClaimEntry(
            id=claim.id,
            generation=claim.generation,
            verb=verb,
            reason=reason,
            evidence=evidence,
            by=by,
            at=self._host.clock.now(),
        )


def _settled(claim: Claim, resolution: ResolvedOutput | ResolvedFailure) -> OverruleClaim:
    if isinstance(resolution, ResolvedOutput):
        output: JsonValue = resolution.output
        return OverruleClaim(
            id=claim.id,
            generation=claim.generation,
            to="committed",
            output=canonical_json(output),
            output_hash=content_hash(output),
        )
    extent: Extent = known(resolution.extent, EXTENTS, "what it did")
    return OverruleClaim(
        id=claim.id,
        generation=claim.generation,
        to="released" if extent == "no" else "failed",
        extent=None if extent == "no" else extent,
    )
