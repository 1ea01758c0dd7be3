"""Reading a whole log from a store, verified against its hash chain as it comes in."""

from __future__ import annotations

from collections.abc import AsyncIterator

from salvor.events.chain import ChainCheck
from salvor.events.codec import decode
from salvor.events.records import Head
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
    check = ChainCheck(run_id)
    head = None
    async for page_head, page in _pages(store, run_id, check):
        envelopes.extend(page)
        head = page_head
    assert head is not None
    check.end(head)
    return envelopes, head


async def _pages(
    store: Store, run_id: str, check: ChainCheck
) -> AsyncIterator[tuple[Head, list[Envelope]]]:
    while True:
        page = await store.read(run_id, after=check.length - 1, limit=PAGE)
        check.rows(page.rows)
        yield page.head, [decode(row.envelope, run_id=run_id, seq=row.seq) for row in page.rows]
        if len(page.rows) < PAGE:
            return
