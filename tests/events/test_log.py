"""Reading a log, and going on with one that was read before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from salvor.clock import SystemClock
from salvor.events.chain import GENESIS, row_hash
from salvor.events.codec import encode
from salvor.events.log import PAGE, read_log, read_on
from salvor.events.records import Append, Driver, Fence, Head, LogPage, Row
from salvor.events.vocabulary import Envelope
from salvor.store_errors import TamperEvident
from salvor.stores.memory import MemoryStore
from tests.support.logs import RUN, STARTED, done, intent, log

pytestmark = pytest.mark.anyio

CALLED = [event for seq in range(1, 9, 2) for event in (intent(seq), done(seq))]
WHOLE = log(STARTED, *CALLED)


class Watched(MemoryStore):
    """Notes from where on it was read."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock())
        self.asked: list[int] = []

    async def read(self, run_id: str, *, after: int = -1, limit: int = PAGE) -> LogPage:
        self.asked.append(after)
        return await super().read(run_id, after=after, limit=limit)


async def add(store: MemoryStore, fence: Fence, head: Head, envelopes: list[Envelope]) -> None:
    rows, before = [], head.head_hash
    for one in envelopes:
        text = encode(one)
        before = row_hash(before, RUN, one.seq, text)
        rows.append(Row(seq=one.seq, recorded_at=0, envelope=text, row_hash=before))
    append = Append(
        fence=fence,
        length=head.length,
        prev_hash=head.head_hash,
        rows=tuple(rows),
        nonce=f"n{head.length}",
    )
    assert await store.append(append) is None


async def begun() -> tuple[Watched, Fence]:
    store = Watched()
    driver = Driver(id="d", pid=1, host="h")
    fence, head = await store.take_over(RUN, driver, lease=30, create=True)
    await add(store, fence, head, WHOLE[:5])
    return store, fence


async def test_a_log_that_was_read_goes_on_from_its_end() -> None:
    store, fence = await begun()
    envelopes, head = await read_log(store, RUN)
    await add(store, fence, head, WHOLE[5:])
    store.asked.clear()

    later, end = await read_on(store, envelopes, head)

    assert store.asked == [4]
    assert later == WHOLE
    assert all(one is other for one, other in zip(later, envelopes, strict=False))
    assert (end.length, len(envelopes)) == (9, 5)


async def test_without_news_it_is_as_it_was() -> None:
    store, _ = await begun()
    envelopes, head = await read_log(store, RUN)

    assert await read_on(store, envelopes, head) == (envelopes, head)


@pytest.mark.parametrize("known", [{"head_hash": GENESIS}, {"length": 7}], ids=["hash", "length"])
async def test_what_does_not_follow_on_what_was_read_is_seen(known: dict[str, object]) -> None:
    store, fence = await begun()
    envelopes, head = await read_log(store, RUN)
    await add(store, fence, head, WHOLE[5:6])

    with pytest.raises(TamperEvident):
        await read_on(store, envelopes, replace(head, **known))  # type: ignore[arg-type]
