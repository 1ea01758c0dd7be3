"""A run as it was found in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from salvor.events.fold import RunState
from salvor.events.records import Head
from salvor.events.vocabulary import Envelope, Event, SleepStarted, Suspended
from salvor.run_errors import WrongState
from salvor.runtime.outcome import Parked, parked_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A run's verified log and what it folds to."""

    envelopes: Sequence[Envelope]
    head: Head
    state: RunState

    @property
    def last(self) -> Event | None:
        """The last event."""
        return self.envelopes[-1].event if self.envelopes else None

    def refuse_unbegun(self) -> None:
        """Refuse what only a run that was begun can take.

        Raises:
            WrongState: its driver died before it had recorded anything.
        """
        if not self.envelopes:
            raise WrongState(
                f"run {self.head.run_id} was never begun: its log is empty, and nothing of it "
                "happened.",
                hint="It needs no end. Start it with this id, or leave it.",
            )

    def parked(self) -> Parked | None:
        """The park the run rests at, as a drive would give it back."""
        rest = self.state.park or self.state.sleep
        if rest is None:
            return None
        event = self.envelopes[rest.seq].event
        assert isinstance(event, Suspended | SleepStarted)
        return parked_at(self.head.run_id, rest.seq, event)
