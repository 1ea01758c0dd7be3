"""Backups of a store that is written to, restores, and what no store in memory shows."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salvor.events.records import Signal
from salvor.run_errors import Unconfirmed
from salvor.store_errors import StoreUnavailable
from salvor.stores import statements as sql
from salvor.stores.schema import connect
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import THERE, start_log, texts

pytestmark = pytest.mark.anyio


class WrittenMeanwhile(sqlite3.Connection):
    """Somebody else commits to the store after each step of a backup."""

    path = ""
    steps = 0

    def backup(self, target: sqlite3.Connection, **options: Any) -> None:
        db = sqlite3.connect(type(self).path, isolation_level=None)

        def write(status: int, remaining: int, total: int) -> None:
            db.execute("UPDATE runs SET due_at = coalesce(due_at, 0) + 1")
            type(self).steps += 1
            if type(self).steps > 1000:
                raise AssertionError("the backup began from the start again and again")

        try:
            super().backup(target, **{**options, "progress": write})
        finally:
            db.close()


def written_meanwhile(path: str) -> sqlite3.Connection:
    return sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, factory=WrittenMeanwhile
    )


class Fails(sqlite3.Connection):
    """A backup of which a part is written when the disk is full."""

    def backup(self, target: sqlite3.Connection, **options: Any) -> None:
        super().backup(target, **options)
        raise sqlite3.OperationalError("database or disk is full")


class CommitsAndFails(sqlite3.Connection):
    """Its next commit takes effect, and says that it failed."""

    armed = False

    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        done = super().execute(statement, *parameters)
        if statement == "COMMIT" and type(self).armed:
            type(self).armed = False
            raise sqlite3.OperationalError("disk I/O error")
        return done


async def test_g6_a_backup_of_a_store_that_others_write_to_is_of_one_moment(
    path: Path, tmp_path: Path
) -> None:
    WrittenMeanwhile.path, WrittenMeanwhile.steps = str(path), 0
    store = SqliteStore.open(path, connect=written_meanwhile)
    log = await start_log(store, "run-1")
    for _ in range(4):
        await log.append("x" * 1_000_000)
    await store.backup(str(tmp_path / "copy.db"))
    assert WrittenMeanwhile.steps > 2
    assert (await store.head("run-1")).due_at is not None

    copy = SqliteStore.open(tmp_path / "copy.db")
    assert (await copy.head("run-1")).due_at is None
    assert len(await texts(copy, "run-1")) == 4
    await copy.close()
    await store.close()


async def test_a_backup_that_fails_leaves_nothing(path: Path, tmp_path: Path) -> None:
    store = SqliteStore.open(
        path,
        connect=lambda name: sqlite3.connect(
            name, isolation_level=None, check_same_thread=False, factory=Fails
        ),
    )
    await (await start_log(store, "run-1")).append("a")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(StoreUnavailable, match=r"copy\.db cannot be written: .* is full") as caught:
        await store.backup(str(tmp_path / "copy.db"))
    assert caught.value.hint
    assert sorted(os.listdir(tmp_path)) == before
    await store.close()


async def test_a_backup_into_no_directory_is_one_clear_error(path: Path, tmp_path: Path) -> None:
    store = SqliteStore.open(path)
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await store.backup(str(tmp_path / "none" / "copy.db"))
    await store.close()


async def test_g6_a_restore_stops_keyed_calls_of_stores_that_are_open_already(path: Path) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-1")
    await log.append("intent", claims=(log.take(),))
    await log.append("end", claims=(log.settle(0, "released"),))
    operator = SqliteStore.open(path)
    await operator.begin_incarnation()
    other = await start_log(operator, "run-2", driver=THERE)
    for one in (log, other):
        with pytest.raises(Unconfirmed):
            await one.append("intent", claims=(one.take(),))
    await operator.confirm_incarnation()
    assert await log.append("intent", claims=(log.take(),)) is None
    await operator.close()
    await store.close()


async def test_a_signal_whose_commit_took_effect_although_it_failed_has_its_number(
    path: Path,
) -> None:
    store = SqliteStore.open(
        path,
        connect=lambda name: sqlite3.connect(
            name, isolation_level=None, check_same_thread=False, factory=CommitsAndFails
        ),
    )
    await start_log(store, "run-1")
    signal = Signal(run_id="run-1", name="paid", payload="1", sent_at=datetime.now(UTC))
    assert await store.signal(signal) == 1
    CommitsAndFails.armed = True
    assert await store.signal(signal) == 2
    assert [one.n for one in await store.inbox("run-1")] == [1, 2]
    await store.close()


async def test_a_damaged_event_does_not_keep_an_old_store_from_being_migrated(path: Path) -> None:
    source = Path(__file__).parents[2] / "salvor" / "stores" / "migrations" / "sqlite" / "0001.sql"
    db = connect(str(path))
    db.executescript(source.read_text("utf-8"))
    db.execute("INSERT INTO store_meta VALUES ('schema_version', '1')")
    db.execute(
        "INSERT INTO runs (id, run_id, epoch, token, length, head_hash, first_recorded_at,"
        " last_recorded_at) VALUES (1, 'run-1', 1, 't', 1, 'h', 1, 1)"
    )
    db.execute("INSERT INTO events VALUES (1, 0, 1, '{\"event\":', 'h', 1, 'n')")
    db.close()
    store = SqliteStore.open(path)
    [row] = await store.runs()
    assert (row.head.run_id, row.head.ended) == ("run-1", False)
    await store.close()


@pytest.mark.parametrize(
    ("statement", "parameters"),
    [(sql.DUE, (1,)), (sql.RUNS, (1, "run-1", 0, 1, 100)), (sql.COMMITTED_BY, ("run-1",))],
    ids=["due", "runs", "committed"],
)
async def test_what_is_asked_again_and_again_does_not_look_at_everything(
    path: Path, statement: str, parameters: tuple[Any, ...]
) -> None:
    await SqliteStore.open(path).close()
    db = connect(str(path))
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    db.close()
    assert [step for step in plan if step.startswith("SCAN")] == []
