"""Recording how a call ended, and keeping what cannot be recorded any more."""

from __future__ import annotations

import logging
from datetime import datetime

import anyio

from salvor.errors import Extent
from salvor.events.claims import ClaimChange, ClaimId
from salvor.events.records import LateResult
from salvor.events.vocabulary import Event, ToolCallCompleted, ToolCallRequested
from salvor.runtime.claiming import settling
from salvor.runtime.execution import Value
from salvor.runtime.host import Host
from salvor.runtime.parking import Parking
from salvor.runtime.policy import Fault
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt
from salvor.store_errors import StoreClosed, StoreError
from salvor.values import canonical_json

_log = logging.getLogger("salvor.call")

_KEEP_WITHIN = 30.0
_RETRY_FIRST = 0.05
_RETRY_MAX = 2.0


class Completions:
    """Records completions of one run; a proof that something happened is not dropped (E7)."""

    def __init__(self, host: Host, recorder: Recorder, run_id: str) -> None:
        self._host = host
        self._recorder = recorder
        self._run_id = run_id

    async def complete(
        self,
        claim: ClaimId | None,
        intent: ToolCallRequested,
        completion: ToolCallCompleted,
        extent: Extent | None,
        *,
        due: datetime | None = None,
    ) -> ToolCallCompleted:
        """Record a completion and settle the claim with it.

        Args:
            claim: The key the intent holds.
            intent: What is completed.
            completion: How it ended.
            extent: What it may have done; ``None`` for a real output.
            due: When somebody has to look at the run, if nobody drives it.
        """
        claims = settling(claim, completion, self._run_id, extent)
        await self.record(intent, completion, claims=claims, due=due)
        return completion

    async def record(
        self,
        intent: ToolCallRequested,
        completion: ToolCallCompleted,
        *then: Event,
        claims: tuple[ClaimChange, ...],
        due: datetime | None = None,
        heeds_cancel: bool = False,
    ) -> bool:
        """Record what a body did, and what follows from it at once, or keep it as late.

        Returns:
            Whether it was recorded: with ``heeds_cancel``, nothing is while a cancel stands.

        Raises:
            Halt: the run was taken over, or the store is closed.
        """
        try:
            seen = await self._recorder.append_surely(
                completion, *then, claims=claims, due=due, heeds_cancel=heeds_cancel
            )
        except StoreError as error:
            await self._keep(intent, completion)
            raise Halt(Broken(error)) from error
        except BaseException:
            # Cancelled while the store could not take it: nobody else knows what happened.
            await self._keep(intent, completion)
            raise
        return seen is None

    async def keep(self, intent: ToolCallRequested, ended: Value | Parking | Fault) -> None:
        """Keep what an execution came to, as a late result."""
        if isinstance(ended, Value):
            await self.keep_late(intent, "output", canonical_json(ended.output), None)
        elif isinstance(ended, Fault):
            await self.keep_late(intent, "error", canonical_json(ended.message), ended.extent)
        else:
            message = f"it asked to park its run, too late: {ended}"
            await self.keep_late(intent, "error", canonical_json(message), "yes")

    async def keep_late(
        self, intent: ToolCallRequested, outcome: str, value: str, extent: Extent | None
    ) -> None:
        """Keep a late result; a store that is busy or full is asked again for a while."""
        late = LateResult(
            run_id=self._run_id,
            intent_seq=intent.seq,
            epoch=self._recorder.fence.epoch,
            outcome=outcome,
            value=value,
            extent=extent,
            kept_at=self._host.clock.now(),
        )
        with anyio.move_on_after(_KEEP_WITHIN, shield=True):
            if await self._kept(late):
                return
        _log.error("run %s: a result was lost: %s %s", self._run_id, outcome, value)

    async def _kept(self, late: LateResult) -> bool:
        delay = _RETRY_FIRST
        while True:
            try:
                await self._host.store.keep_late(late)
                return True
            except StoreClosed:
                return False
            except StoreError:
                await anyio.sleep(delay)
                delay = min(delay * 2, _RETRY_MAX)

    async def _keep(self, intent: ToolCallRequested, completion: ToolCallCompleted) -> None:
        with anyio.CancelScope(shield=True):
            if not await self._recorder.holds(completion):
                value = canonical_json(completion.output)
                outcome = completion.outcome or "output"
                await self.keep_late(intent, outcome, value, completion.extent)


class Unrecorded(Completions):
    """For reads that somebody else records: what they end in is only given back."""

    async def complete(
        self,
        claim: ClaimId | None,
        intent: ToolCallRequested,
        completion: ToolCallCompleted,
        extent: Extent | None,
        *,
        due: datetime | None = None,
    ) -> ToolCallCompleted:
        """Give the completion back."""
        return completion
