"""Reading a log that a newer salvor wrote, as far as looking at it needs.

Nothing is driven by what is read here: replay refuses what it does not know, by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from salvor.events.codec import decode
from salvor.events.fold import RunState, fold
from salvor.events.log import each_page
from salvor.events.records import Head, LogPage, Row
from salvor.events.store import Store
from salvor.events.vocabulary import Envelope
from salvor.store_errors import UnsupportedEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """An event of a kind or version that is not known here; ``what`` names it."""

    seq: int
    what: str


Entry: TypeAlias = Envelope | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Skim:
    """A verified log, known or not, and what the known part of it folds to.

    The last event decides where a run stands, so the state is right unless that one is
    unknown: then ``status`` is ``unsupported``. ``texts`` are the events as stored.
    """

    entries: Sequence[Entry]
    texts: Sequence[str]
    head: Head
    state: RunState

    @property
    def status(self) -> str:
        """Where the run stands."""
        known = not self.entries or isinstance(self.entries[-1], Envelope)
        return self.state.status if known else "unsupported"


async def skim_log(store: Store, run_id: str) -> Skim:
    """All events of a run.

    Raises:
        UnknownRun: the store has no such run.
        TamperEvident: a row, or the head, is not what was written.
        MalformedLog: an event is none.
    """
    entries: list[Entry] = []
    texts: list[str] = []

    def take(page: LogPage) -> None:
        entries.extend(_entry(run_id, row) for row in page.rows)
        texts.extend(row.envelope for row in page.rows)

    head = await each_page(store, run_id, take)
    state = fold(entry for entry in entries if isinstance(entry, Envelope))
    return Skim(entries=entries, texts=texts, head=head, state=state)


def _entry(run_id: str, row: Row) -> Entry:
    try:
        return decode(row.envelope, run_id=run_id, seq=row.seq)
    except UnsupportedEvent as error:
        return Unknown(seq=row.seq, what=error.what)
