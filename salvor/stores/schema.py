"""Opens the file of a SQLite store: checks what it is, and makes or migrates its tables."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from importlib import resources

from salvor.events.chain import CHAIN
from salvor.store_errors import StoreUnavailable, StoreVersionError

SCHEMA_VERSION = 2
BUSY_TIMEOUT = 5.0
_OLDEST_SQLITE = (3, 37, 0)  # STRICT tables

Connect = Callable[[str], sqlite3.Connection]


def connect(path: str) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time; transactions are ours to begin."""
    return sqlite3.connect(
        path, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False
    )


def prepared(
    connection: sqlite3.Connection, *, synchronous: str = "FULL", busy: float = BUSY_TIMEOUT
) -> sqlite3.Connection:
    """The connection with our settings; ``busy`` is its patience with other programs."""
    connection.text_factory = _text
    connection.execute(f"PRAGMA busy_timeout={int(busy * 1000)}")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("PRAGMA temp_store=MEMORY")
    return connection


def _text(stored: bytes) -> str:
    # A forged byte becomes a character whose hash does not fit, not a decoding error.
    return stored.decode("utf-8", "replace")


def check_path(path: str) -> None:
    """Refuse a path that cannot hold a store, before anything is made.

    Raises:
        StoreUnavailable: says what is wrong with it and what to do.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise StoreUnavailable(
            f"SQLite {sqlite3.sqlite_version} is too old for a store.",
            hint="Use a Python whose sqlite3 module has SQLite 3.37 or newer.",
        )
    directory = os.path.dirname(path)
    if os.path.isdir(path):
        raise StoreUnavailable(
            f"{path} is a directory, not a store.", hint="Name a file in it with --store."
        )
    if not os.path.isdir(directory):
        raise StoreUnavailable(
            f"the store {path} cannot be made: there is no directory {directory}.",
            hint="Make the directory first.",
        )
    if os.path.exists(path) and not os.path.isfile(path):
        raise StoreUnavailable(f"{path} is not a file.", hint="Name a file with --store.")
    _check_rights(path, directory)


def _check_rights(path: str, directory: str) -> None:
    if not os.access(directory, os.W_OK | os.X_OK):
        raise StoreUnavailable(
            f"the store {path} cannot be used: the directory {directory} cannot be written to.",
            hint="A store keeps its log and lock files beside it: give this user the right to "
            "write there, or name a file elsewhere with --store.",
        )
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnavailable(
            f"the store {path} is read-only for this user.",
            hint="Give this user the right to read and write the file.",
        )


def is_current(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file is a store of this version; ``False`` if it has to be made one.

    Raises:
        StoreVersionError: a newer salvor made it.
        StoreUnavailable: it is another program's database.
    """
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if not tables:
        return False
    if ("store_meta",) not in tables:
        raise StoreUnavailable(
            f"{path} is a SQLite database of another program, not a store.",
            hint="Name another file with --store.",
        )
    return _checked_version(connection, path) == SCHEMA_VERSION and _is_wal(connection)


def _checked_version(connection: sqlite3.Connection, path: str) -> int:
    meta = dict(connection.execute("SELECT key, value FROM store_meta").fetchall())
    version, chain = meta.get("schema_version", ""), meta.get("chain")
    if not version.isdecimal() or chain != CHAIN or int(version) > SCHEMA_VERSION:
        raise StoreVersionError(
            f"the store {path} has schema version {version or 'unknown'} and chain "
            f"{chain or 'unknown'}; this salvor knows versions up to {SCHEMA_VERSION} and {CHAIN}.",
            hint="Use the version of salvor that wrote it, or a newer one.",
        )
    return int(version)


def _is_wal(connection: sqlite3.Connection) -> bool:
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return str(mode).lower() == "wal"


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Make the file a store of this version, in one transaction; the lock file is held.

    Raises:
        StoreUnavailable: the file system cannot keep a write-ahead log.
    """
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    if str(mode).lower() != "wal":
        raise StoreUnavailable(
            f"the file system of the store {path} cannot keep a write-ahead log.",
            hint="Use a local disk.",
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        done = 0
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'store_meta'").fetchone():
            done = _checked_version(connection, path)
        for version in range(done + 1, SCHEMA_VERSION + 1):
            for statement in _statements(version):
                connection.execute(statement)
        connection.execute(
            "INSERT INTO store_meta (key, value) VALUES ('schema_version', ?)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (str(SCHEMA_VERSION),),
        )
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(version: int) -> Iterator[str]:
    source = resources.files("salvor.stores") / "migrations" / "sqlite" / f"{version:04d}.sql"
    statement = ""
    for line in source.read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
