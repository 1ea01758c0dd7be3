"""Reading a whole log from a store, verified against its hash chain as it comes in."""

from __future__ import annotations

from collections.abc import Callable

from salvor.events.chain import ChainCheck
from salvor.events.codec import decode
from salvor.events.records import Head, LogPage
from salvor.events.store import Store
from salvor.events.vocabulary import Envelope

PAGE = 2000


async def read_log(store: Store, run_id: str) -> tuple[list[Envelope], Head]:
    """All events of a run, decoded, and the head they were checked against.

    Raises:
        UnknownRun: the store has no such run.
        TamperEvident: a row, or the head, is not what was written.
        UnsupportedEvent, MalformedLog: an event cannot be read.
    """
    envelopes: list[Envelope] = []

    def take(page: LogPage) -> None:
        envelopes.extend(decode(row.envelope, run_id=run_id, seq=row.seq) for row in page.rows)

    return envelopes, await each_page(store, run_id, take)


async def each_page(store: Store, run_id: str, take: Callable[[LogPage], None]) -> Head:
    """Hand on the pages of a log, each checked against the chain; the head they end at."""
    check = ChainCheck(run_id)
    while True:
        page = await store.read(run_id, after=check.length - 1, limit=PAGE)
        check.rows(page.rows)
        take(page)
        if len(page.rows) < PAGE:
            check.end(page.head)
            return page.head
