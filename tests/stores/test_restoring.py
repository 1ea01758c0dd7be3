"""A store made out of a backup is marked before it can be found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from salvor.events.records import Incarnation
from salvor.run_errors import Unconfirmed
from salvor.store_errors import StoreFull, StoreUnavailable
from salvor.stores.restoring import restored
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import THERE, start_log, texts

pytestmark = pytest.mark.anyio


class Unmarkable(SqliteStore):
    """A store whose disk fills up just then."""

    async def begin_incarnation(self) -> Incarnation:
        raise StoreFull("the disk is full.")


@pytest.fixture
async def backup(tmp_path: Path) -> Path:
    store = SqliteStore.open(tmp_path / "first.db")
    await (await start_log(store, "run-1")).append("a")
    await store.backup(str(tmp_path / "backup.db"))
    await store.close()
    return tmp_path / "backup.db"


async def test_g6_a_restored_store_is_whole_and_takes_no_keys(backup: Path, path: Path) -> None:
    begun = await restored(str(backup), str(path))
    assert (begun.number, begun.confirmed) == (2, False)
    store = SqliteStore.open(path)
    assert await store.incarnation() == begun
    assert await texts(store, "run-1") == ["a"]
    log = await start_log(store, "run-2", driver=THERE)
    with pytest.raises(Unconfirmed):
        await log.append("intent", claims=(log.take(),))
    await store.close()


async def test_g6_a_restore_that_fails_leaves_no_store_that_takes_keys(
    backup: Path, path: Path
) -> None:
    with pytest.raises(StoreFull):
        await restored(str(backup), str(path), opened=Unmarkable.open)
    left = os.listdir(path.parent)
    assert path.name not in left
    assert [name for name in left if name.startswith(".salvor")] == []


async def test_a_restore_writes_over_nothing_and_needs_a_backup(backup: Path, path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="there already"):
        await restored(str(backup), str(backup.with_name("first.db")))
    with pytest.raises(StoreUnavailable, match="no backup"):
        await restored(str(backup) + "x", str(path) + "x")
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        await restored(str(backup), str(path.parent / "none" / "store.db"))


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
async def test_a_restore_does_not_mix_with_what_is_left_of_another_store(
    backup: Path, path: Path, end: str
) -> None:
    left = path.with_name(path.name + end)
    left.write_bytes(b"of another store")

    with pytest.raises(StoreUnavailable, match="is left of a store"):
        await restored(str(backup), str(path))
    assert path.name not in os.listdir(path.parent)
    assert left.read_bytes() == b"of another store"
