from typing import Any

import pytest

from salvor.events.log import read_log
from salvor.events.records import Append, Driver, Stands
from salvor.events.vocabulary import NowObserved, ToolCallCompleted, ToolCallRequested
from salvor.runtime.recorder import Recorder
from salvor.store_errors import (
    AppendRefused,
    CommitUnknown,
    Fenced,
    StoreBusy,
    StoreFull,
    StoreUnavailable,
)
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from tests.support.logs import AT, RUN, STARTED

pytestmark = pytest.mark.anyio

DRIVER = Driver(id="d", pid=1, host="h")
INTENT = ToolCallRequested(seq=1, tool="t", input={}, effect="write", idempotency_key=None)
DONE = ToolCallCompleted(seq=1, output="x")


class Troubled(MemoryStore):
    """Raises what it is told to, before or after it has stored the append."""

    def __init__(self) -> None:
        super().__init__(clock=FakeClock())
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.appends = 0

    async def append(self, append: Append) -> Stands | None:
        self.appends += 1
        if self.before:
            raise self.before.pop(0)
        seen = await super().append(append)
        if self.after:
            raise self.after.pop(0)
        return seen


async def _recorder(store: Troubled) -> Recorder:
    fence, head = await store.take_over(RUN, DRIVER, lease=30, create=True)
    recorder = Recorder(store, FakeClock(), fence=fence, head=head, last=None)
    await recorder.append(STARTED)
    return recorder


async def _kinds(store: MemoryStore) -> list[str]:
    return [e.event.kind for e in (await read_log(store, RUN))[0]]


async def test_g3_a_commit_that_took_effect_although_it_seemed_to_fail_counts() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    store.after = [CommitUnknown("?")]

    await recorder.append(NowObserved(now=AT))
    await recorder.append(NowObserved(now=AT))

    assert await _kinds(store) == ["RunStarted", "NowObserved", "NowObserved"]


async def test_g3_a_commit_that_did_not_take_effect_is_an_error() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    store.before = [CommitUnknown("?")]

    with pytest.raises(CommitUnknown):
        await recorder.append(NowObserved(now=AT))
    assert await _kinds(store) == ["RunStarted"]


@pytest.mark.parametrize("trouble", [StoreBusy("busy"), StoreFull("full")])
async def test_g4_a_completion_is_tried_again_until_it_is_stored(trouble: Any) -> None:
    store = Troubled()
    recorder = await _recorder(store)
    await recorder.append(INTENT)
    store.before = [trouble]

    await recorder.append_surely(DONE)

    assert await _kinds(store) == ["RunStarted", "ToolCallRequested", "ToolCallCompleted"]


async def test_g4_a_completion_stored_by_a_commit_that_seemed_to_fail_is_not_written_twice() -> (
    None
):
    store = Troubled()
    recorder = await _recorder(store)
    await recorder.append(INTENT)
    store.after = [CommitUnknown("?")]

    await recorder.append_surely(DONE)
    await recorder.append(NowObserved(now=AT))

    assert (await _kinds(store))[2:] == ["ToolCallCompleted", "NowObserved"]


async def test_g4_a_fenced_completion_is_given_up() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    await recorder.append(INTENT)
    store.before = [Fenced(RUN)]

    with pytest.raises(Fenced):
        await recorder.append_surely(DONE)


async def test_an_event_that_may_not_follow_never_reaches_the_store() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    appends = store.appends

    with pytest.raises(AppendRefused):
        await recorder.append(DONE)
    assert store.appends == appends


async def test_g4_a_store_that_will_not_do_better_is_not_asked_again() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    await recorder.append(INTENT)
    store.before = [StoreUnavailable("damaged")]

    with pytest.raises(StoreUnavailable, match="damaged"):
        await recorder.append_surely(DONE)


async def test_g4_a_completion_whose_failed_write_took_effect_counts() -> None:
    store = Troubled()
    recorder = await _recorder(store)
    await recorder.append(INTENT)
    store.after = [StoreUnavailable("damaged")]

    await recorder.append_surely(DONE)

    assert await recorder.holds(DONE)
