"""What came too late for the log, and shows all the same that a call did something (E7)."""

from __future__ import annotations

from salvor.errors import Extent
from salvor.events.records import LateResult
from salvor.run_errors import Proved
from salvor.runtime.host import Host
from salvor.runtime.resolve import NotDone, Resolution, ResolvedFailure


async def refuse_disproved(
    host: Host, run_id: str, seq: int, tool: str, said: Resolution | Extent | None
) -> None:
    """Refuse the word that nothing happened where a late result shows that something did.

    Args:
        host: The process's parts.
        run_id: The run.
        seq: The position of the call's intent.
        tool: Its tool, for the message.
        said: What an operator, or the tool's own question, says of the call.

    Raises:
        Proved: it did something.
    """
    extent = said.extent if isinstance(said, ResolvedFailure) else said
    if extent != "no" and not isinstance(said, NotDone):
        return
    for late in await host.store.late(run_id):
        if late.intent_seq == seq and proves(late):
            raise Proved(tool=tool, late=late)


def proves(late: LateResult) -> bool:
    """Whether a late result shows that its call did something."""
    return late.extent == "yes" or late.outcome not in ("error", "not_executed")
