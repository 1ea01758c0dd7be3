"""Ending a run that somebody wants ended (DURABILITY D5)."""

from __future__ import annotations

from salvor.events.records import Cancel
from salvor.events.vocabulary import RunAbandoned
from salvor.runtime.outcome import Abandoned
from salvor.runtime.recorder import Recorder


async def honoured(recorder: Recorder, cancel: Cancel) -> Abandoned:
    """Record the end that a cancel asks for; nothing of the run is open."""
    await recorder.append(abandoning(cancel))
    return Abandoned(run_id=cancel.run_id, reason=cancel.reason, by=cancel.by)


def abandoning(cancel: Cancel) -> RunAbandoned:
    """The event that a cancel becomes."""
    return RunAbandoned(reason=cancel.reason, caller=cancel.by)
