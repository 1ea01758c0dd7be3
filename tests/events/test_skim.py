from __future__ import annotations

from typing import Any

import pytest

from salvor.clock import SystemClock
from salvor.events.chain import GENESIS, row_hash
from salvor.events.codec import encode
from salvor.events.log import read_log
from salvor.events.records import Append, Driver, Row
from salvor.events.skim import Unknown, skim_log
from salvor.events.vocabulary import Envelope
from salvor.store_errors import MalformedLog, UnsupportedEvent
from salvor.stores.memory import MemoryStore
from tests.support.logs import AT, RUN, STARTED, done, intent, log

pytestmark = pytest.mark.anyio

NEWER = (
    f'{{"run_id":"{RUN}","seq":SEQ,"schema_version":VERSION,"recorded_at":"{AT}",'
    '"event":{"kind":"KIND","payload":{"what":1}}}'
)


def newer(seq: int, kind: str = "RunDreamt", version: int = 1) -> str:
    return NEWER.replace("SEQ", str(seq)).replace("VERSION", str(version)).replace("KIND", kind)


async def stored(*texts: str) -> MemoryStore:
    store = MemoryStore(clock=SystemClock())
    driver = Driver(id="d", pid=1, host="h")
    fence, head = await store.take_over(RUN, driver, lease=30, create=True)
    rows, before = [], GENESIS
    for seq, text in enumerate(texts):
        before = row_hash(before, RUN, seq, text)
        rows.append(Row(seq=seq, recorded_at=0, envelope=text, row_hash=before))
    append = Append(fence=fence, length=0, prev_hash=head.head_hash, rows=tuple(rows), nonce="n")
    assert await store.append(append) is None
    return store


KNOWN = [encode(envelope) for envelope in log(STARTED, intent(1), done(1))]


async def test_what_is_known_is_read_and_what_is_not_is_named() -> None:
    store = await stored(*KNOWN, newer(3), newer(4, "RunStarted", 2))
    skim = await skim_log(store, RUN)

    assert [type(entry) for entry in skim.entries] == [Envelope] * 3 + [Unknown] * 2
    assert skim.entries[3:] == [
        Unknown(seq=3, what="of kind 'RunDreamt'"),
        Unknown(seq=4, what="of schema version 2"),
    ]
    assert list(skim.texts) == [*KNOWN, newer(3), newer(4, "RunStarted", 2)]
    assert skim.status == "unsupported"
    assert skim.state.status == "running"


async def test_an_unknown_event_in_the_middle_does_not_hide_where_the_run_stands() -> None:
    store = await stored(KNOWN[0], newer(1), encode(log(STARTED, intent(1), intent(2, "write"))[2]))

    assert (await skim_log(store, RUN)).status == "needs-reconciliation"


async def test_replay_refuses_it_by_name() -> None:
    store = await stored(*KNOWN, newer(3))

    with pytest.raises(UnsupportedEvent, match="RunDreamt"):
        await read_log(store, RUN)


@pytest.mark.parametrize("text", ["{", '{"schema_version":1}', NEWER.replace("SEQ", "7")])
async def test_what_is_no_event_at_all_is_not_skimmed_over(text: str) -> None:
    store: Any = await stored(*KNOWN, text.replace("VERSION", "1"))

    with pytest.raises(MalformedLog):
        await skim_log(store, RUN)


async def test_an_empty_log_has_not_started() -> None:
    store = MemoryStore(clock=SystemClock())
    await store.take_over(RUN, Driver(id="d", pid=1, host="h"), lease=30, create=True)

    assert (await skim_log(store, RUN)).status == "not-started"
