"""A store that was made by the first schema opens, and goes on."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from salvor.events.chain import GENESIS
from salvor.events.records import Signal
from salvor.run_errors import RunEnded
from salvor.stores import statements as sql
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_checks_upkeep import ended_run
from salvor.testing.store_log import HERE, KEY, start_log, texts

pytestmark = pytest.mark.anyio


def first_schema(path: Path) -> None:
    """What the first version left behind: a run that ended, one that goes on, a claim."""
    source = resources.files("salvor.stores") / "migrations" / "sqlite" / "0001.sql"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.executescript(source.read_text("utf-8"))
    db.execute("INSERT INTO store_meta VALUES ('schema_version', '1')")
    for key, run_id, count in ((1, "run-1", 4), (2, "run-2", 2)):
        rows = ended_run(run_id)[:count]
        db.execute(
            "INSERT INTO runs (id, run_id, epoch, token, length, head_hash, first_recorded_at,"
            " last_recorded_at) VALUES (?, ?, 1, 't', ?, ?, 1, ?)",
            (key, run_id, count, rows[-1].row_hash, count),
        )
        for row in rows:
            event = (key, row.seq, row.recorded_at, row.envelope, row.row_hash, 1, "n")
            db.execute(sql.INSERT_EVENT, event)
    db.execute(
        "INSERT INTO claims (namespace, scope, key, state, effect, run_id, intent_seq, input_hash,"
        " generation) VALUES (?, ?, ?, 'held', 'write', 'run-2', 1, 'in', 1)",
        (KEY.namespace, KEY.scope, KEY.key),
    )
    db.execute(
        "INSERT INTO waits VALUES (1, ?, ?, ?, 'pay', 'run-2', 0)",
        (KEY.namespace, KEY.scope, KEY.key),
    )
    db.commit()
    db.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    first_schema(tmp_path / "store.db")
    return tmp_path / "store.db"


async def test_what_was_stored_is_there_and_can_be_gone_on_with(path: Path) -> None:
    store = SqliteStore.open(path)

    assert await texts(store, "run-1") == [row.envelope for row in ended_run("run-1")]
    assert [(row.head.run_id, row.head.ended) for row in await store.runs()] == [
        ("run-1", True),
        ("run-2", False),
    ]
    claim = await store.claim(KEY)
    assert claim is not None and claim.state == "held"
    fence, head = await store.take_over("run-2", HERE, lease=30.0)
    assert (fence.epoch, head.length, head.takeovers) == (2, 2, 1)
    await store.release(fence)
    await store.close()


async def test_the_ends_of_runs_are_found_in_their_logs(path: Path) -> None:
    store = SqliteStore.open(path)
    signal = Signal(run_id="run-1", name="go", payload="1", sent_at=datetime.now(UTC))

    with pytest.raises(RunEnded):
        await store.signal(signal)
    assert await store.forget("run-1", ended_before=datetime.now(UTC) + timedelta(days=1))
    assert [row.head.run_id for row in await store.runs()] == ["run-2"]
    await store.close()


async def test_it_is_migrated_once(path: Path) -> None:
    await SqliteStore.open(path).close()
    await SqliteStore.open(path).close()

    db = sqlite3.connect(path)
    version = db.execute(sql.META, ("schema_version",)).fetchone()
    db.close()
    assert version == ("2",)


async def test_events_are_never_deleted_but_with_their_run(path: Path) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-3")
    await log.append("a")
    await store.close()

    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="events are never deleted"):
        db.execute("DELETE FROM events WHERE run = (SELECT id FROM runs WHERE run_id = 'run-3')")
    db.close()
    assert log.head_hash != GENESIS


async def test_a_copy_of_a_live_store_is_a_store(path: Path, tmp_path: Path) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-3")
    await log.append("a")
    await store.backup(str(tmp_path / "copy.db"))
    await log.append("b")
    copy = SqliteStore.open(tmp_path / "copy.db")

    assert await texts(copy, "run-3") == ["a"]
    assert await texts(store, "run-3") == ["a", "b"]
    assert len(await copy.runs()) == 3
    await copy.close()
    await store.close()
