from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from salvor.errors import SalvorError
from salvor.events.chain import ChainCheck
from salvor.store_errors import StoreUnavailable, StoreVersionError, TamperEvident
from salvor.stores import schema
from salvor.stores.connect import open_store
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import start_log

if TYPE_CHECKING:
    from tests.support.workers import Worker

StartWorker = Callable[[], "Worker"]


async def make(path: Path, *, rows: int = 1) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-1")
    for number in range(rows):
        await log.append(f'{{"number":{number},"pad":"{"x" * 500}"}}')
    await store.release(log.fence)
    await store.close()


def altered(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def rewrite(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def give_rights(modes: dict[Path, int]) -> None:
    for path, mode in modes.items():
        path.chmod(mode)


def refused(path: Path | str, kind: type[SalvorError] = StoreUnavailable) -> str:
    with pytest.raises(kind) as caught:
        SqliteStore.open(path)
    message = str(caught.value)
    assert str(path) in message
    assert caught.value.hint
    return message


async def read(path: Path) -> None:
    """Read the log of the store, checked."""
    store = SqliteStore.open(path)
    try:
        page = await store.read("run-1")
        chain = ChainCheck("run-1")
        chain.rows(page.rows)
        chain.end(page.head)
    finally:
        await store.close()


@pytest.mark.anyio
async def test_a_store_can_be_opened_again(path: Path) -> None:
    await make(path, rows=3)
    await read(path)
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "store.db",
        "store.db-lock",
        "store.db-lock-next",
    ]


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert "is a directory" in refused(tmp_path)


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    assert f"no directory {tmp_path}/none" in refused(tmp_path / "none" / "store.db")


def test_what_is_no_file_is_refused() -> None:
    assert "is not a file" in refused("/dev/null")


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("claim_id,amount\n" * 100)
    assert "no SQLite database" in refused(path)
    assert path.read_text() == "claim_id,amount\n" * 100


def test_the_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    altered(path, "CREATE TABLE songs (title)")
    before = path.read_bytes()
    assert "another program" in refused(path)
    assert path.read_bytes() == before


@pytest.mark.anyio
async def test_a_newer_schema_is_refused(path: Path) -> None:
    await make(path)
    altered(path, "UPDATE store_meta SET value = '99' WHERE key = 'schema_version'")
    assert "schema version 99" in refused(path, StoreVersionError)


@pytest.mark.anyio
async def test_another_hash_chain_is_refused(path: Path) -> None:
    await make(path)
    altered(path, "UPDATE store_meta SET value = 'chain.v9' WHERE key = 'chain'")
    assert "chain.v9" in refused(path, StoreVersionError)


@pytest.mark.anyio
@pytest.mark.parametrize("kept", [0.01, 0.3, 0.9])
async def test_a_truncated_file_is_refused(path: Path, kept: float) -> None:
    await make(path, rows=200)
    rewrite(path, lambda content: content[: int(len(content) * kept)])
    assert "damaged" in refused(path)


@pytest.mark.anyio
async def test_a_file_with_a_damaged_page_is_one_clear_error(path: Path) -> None:
    await make(path, rows=200)
    rewrite(path, lambda content: content[: len(content) // 2].ljust(len(content), b"\xff"))
    with pytest.raises(StoreUnavailable, match="is damaged"):
        await read(path)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE events SET envelope = replace(envelope, 'number\":1', 'number\":7')",
        "UPDATE events SET envelope = CAST(x'ff' AS TEXT) WHERE seq = 1",
        "UPDATE events SET row_hash = CAST(x'ff' AS TEXT) WHERE seq = 1",
        "DELETE FROM events WHERE seq = 1",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE runs SET length = 2",
        "UPDATE runs SET head_hash = '0'",
    ],
)
async def test_a_forged_store_is_noticed(path: Path, forgery: str) -> None:
    await make(path, rows=3)
    altered(
        path,
        "DROP TRIGGER events_are_never_changed",
        "DROP TRIGGER events_are_never_deleted",
        forgery,
    )
    with pytest.raises(TamperEvident):
        await read(path)


@pytest.mark.anyio
@pytest.mark.parametrize("statement", ["UPDATE events SET seq = 9", "DELETE FROM events"])
async def test_events_refuse_to_be_changed(path: Path, statement: str) -> None:
    await make(path)
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="events are never"):
        db.execute(statement)
    db.close()


@pytest.mark.anyio
async def test_one_damaged_run_hides_no_other(path: Path) -> None:
    await make(path)
    altered(
        path,
        "INSERT INTO runs (run_id, epoch, token, length, head_hash, lease_until, driver, pid, host)"
        " VALUES ('run-0', -1, '', 12, 'none', 9000000000000000, '../odd', 1, 'nowhere')",
    )
    store = SqliteStore.open(path)
    assert [row.head.run_id for row in await store.runs()] == ["run-1", "run-0"]
    await store.close()


@pytest.mark.anyio
async def test_a_migration_that_fails_leaves_no_half_of_itself(path: Path) -> None:
    class FailsAtTheEnd(sqlite3.Connection):
        def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
            if "late_results_by_run" in sql:
                raise sqlite3.OperationalError("made to fail")
            return super().execute(sql, parameters)

    def connect(name: str) -> sqlite3.Connection:
        return sqlite3.connect(name, isolation_level=None, factory=FailsAtTheEnd)

    with pytest.raises(StoreUnavailable, match="made to fail"):
        SqliteStore.open(path, connect=connect)
    await make(path)
    await read(path)


def test_migrations_are_numbered_up_to_the_current_version() -> None:
    directory = Path(schema.__file__).parent / "migrations" / "sqlite"
    names = sorted(file.name for file in directory.iterdir())
    assert names == [f"{number:04d}.sql" for number in range(1, schema.SCHEMA_VERSION + 1)]


def test_a_directory_that_cannot_be_written_is_one_clear_error(
    shared_directory: Path, start_worker: StartWorker
) -> None:
    shared_directory.chmod(0o555)
    worker = start_worker()
    worker.do("drop_rights")
    told = worker.do("open_store", str(shared_directory / "store.db"))
    assert told["error"] == "store_unavailable"
    assert f"the directory {shared_directory} cannot be written to" in told["message"]
    assert not list(shared_directory.iterdir())


@pytest.mark.anyio
async def test_a_read_only_file_is_one_clear_error(
    shared_directory: Path, start_worker: StartWorker
) -> None:
    path = shared_directory / "store.db"
    await make(path)
    give_rights({path: 0o444, shared_directory: 0o777})
    worker = start_worker()
    worker.do("drop_rights")
    told = worker.do("open_store", str(path))
    assert told["error"] == "store_unavailable"
    assert f"{path} is read-only for this user" in told["message"]


@pytest.mark.anyio
async def test_a_lock_file_of_another_user_is_one_clear_error(
    shared_directory: Path, start_worker: StartWorker
) -> None:
    path = shared_directory / "store.db"
    await make(path)
    lock = shared_directory / "store.db-lock"
    give_rights({path: 0o666, lock: 0o444, shared_directory: 0o777})
    worker = start_worker()
    worker.do("drop_rights")
    told = worker.do("open_store", str(path))
    assert told["error"] == "store_unavailable"
    assert f"{path}-lock" in told["message"]


@pytest.mark.anyio
async def test_two_names_of_one_file_share_its_lock(path: Path) -> None:
    await make(path)
    link = path.with_name("link.db")
    link.symlink_to(path)
    store = SqliteStore.open(link)
    assert store.path == str(path)
    await store.close()


@pytest.mark.anyio
async def test_a_store_is_opened_by_path_and_by_url(path: Path, tmp_path: Path) -> None:
    assert isinstance(open_store("memory:"), MemoryStore)
    for url in (str(path), f"sqlite:///{path}"):
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        assert store.path == str(path)
        await store.close()


@pytest.mark.parametrize("url", ["", "redis://host/0", "sqlite:///", ":memory:", "sqlite://x"])
def test_what_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="names no store"):
        open_store(url)
