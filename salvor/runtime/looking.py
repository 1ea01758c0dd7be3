"""A run as it was found in the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from salvor.events.fold import RunState
from salvor.events.records import Head
from salvor.events.vocabulary import Envelope, Event


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
