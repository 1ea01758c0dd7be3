"""Reading a whole log from a store, verified against its hash chain as it comes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    return await _read(store, run_id, [], None)


async def read_on(
    store: Store, envelopes: Sequence[Envelope], head: Head
) -> tuple[list[Envelope], Head]:
    """The same of a log that was read before, ``head`` its end then: only what follows is read.

    Raises:
        UnknownRun, TamperEvident, UnsupportedEvent, MalformedLog: as `read_log`.
    """
    return await _read(store, head.run_id, list(envelopes), head)


async def _read(
    store: Store, run_id: str, envelopes: list[Envelope], known: Head | None
) -> tuple[list[Envelope], Head]:
    def take(page: LogPage) -> None:
        envelopes.extend(decode(row.envelope, run_id=run_id, seq=row.seq) for row in page.rows)

    return envelopes, await each_page(store, run_id, take, known)


async def each_page(
    store: Store, run_id: str, take: Callable[[LogPage], None], known: Head | None = None
) -> Head:
    """Hand on the pages of a log, each checked against the chain; the head they end at.

    Args:
        store: Where the log is.
        run_id: Whose log it is.
        take: Gets each page.
        known: Where to go on, if what stands before was checked.
    """
    check = ChainCheck(run_id, known)
    while True:
        page = await store.read(run_id, after=check.length - 1, limit=PAGE)
        check.rows(page.rows)
        take(page)
        if len(page.rows) < PAGE:
            check.end(page.head)
            return page.head
