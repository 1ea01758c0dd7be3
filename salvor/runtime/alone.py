"""No second copy of a body starts in a process where the first one still runs (DURABILITY A6)."""

from __future__ import annotations

import anyio

from salvor.events.claims import ClaimId
from salvor.runtime.host import Host
from salvor.runtime.outcome import Parked
from salvor.runtime.stops import Halt, Rest

_POLL = 0.005


async def alone(host: Host, run_id: str, seq: int, claim: ClaimId | None, tool: str) -> None:
    """Wait until no body of this call, or of its key, runs here that nobody waits for.

    Args:
        host: The process's parts.
        run_id: The run that is to make the call.
        seq: The position of the call's intent.
        claim: The call's declared key.
        tool: Its tool, for the message.

    Raises:
        Halt: it was waited for in vain; the run is parked.
    """
    if not host.overtime.runs(run_id, seq, claim):
        return
    until = host.clock.boot() + host.claim_wait
    while host.clock.boot() < until:
        await anyio.sleep(_POLL)
        host.check_interrupt(run_id)
        if not host.overtime.runs(run_id, seq, claim):
            return
    reason = f"a body of {tool} that nobody waits for any more still runs in this process"
    raise Halt(Rest(Parked(run_id=run_id, reason=reason)))
