"""The child of `test_touches`: does one thing after the other, and tells what was seen of each.

Each thing is a function that is called in a directory of its own, which holds the file ``old``.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from salvor.testing.touches import Touch, Watch, wrote

OLD = Path("old")
KEPT: list[sqlite3.Connection] = []


def reads() -> None:
    OLD.read_text()
    os.close(os.open("old", os.O_RDONLY))
    os.listdir()


def writes_a_new_file() -> None:
    Path("new").write_text("x")


def writes_over_a_file() -> None:
    OLD.write_text("y")


def opens_to_append_and_adds_nothing() -> None:
    OLD.open("a").close()


def fails_to_open() -> None:
    try:
        Path("no/such").write_text("x")
    except FileNotFoundError:
        return


def uses_temporary_files() -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory, "a/b")
        place.mkdir(parents=True)
        (place / "c").write_text("x")


def replaces_a_file_by_a_temporary_one() -> None:
    Path("swap").write_text("x")
    Path("swap").replace(OLD)


def removes() -> None:
    OLD.unlink()


def removes_relative_to_a_directory() -> None:
    here = os.open(".", os.O_RDONLY)
    os.unlink("old", dir_fd=here)


def creates_relative_to_a_directory() -> None:
    here = os.open(os.path.abspath("."), os.O_RDONLY)
    os.mkdir("place")
    os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=here))


def makes_a_directory() -> None:
    Path("place").mkdir()


def makes_a_directory_that_is_there() -> None:
    Path().absolute().mkdir(exist_ok=True)


def links() -> None:
    Path("link").symlink_to(OLD)


def truncates() -> None:
    os.truncate("old", 0)


def changes_the_mode() -> None:
    OLD.chmod(0o600)


def touches() -> None:
    os.utime("old")


def removes_a_tree() -> None:
    os.makedirs("a/b")
    Path("a/b/c").write_text("x")
    shutil.rmtree("a")


def writes_to_nowhere() -> None:
    with open(os.devnull, "w") as nowhere:
        nowhere.write("x")


def fills_a_database() -> None:
    with sqlite3.connect("rows.db") as connection:
        connection.execute("CREATE TABLE rows (n)")
    connection.close()


def leaves_rows_in_the_log_of_a_database() -> None:
    connection = sqlite3.connect("logged.db")
    connection.execute("INSERT INTO rows VALUES (1)")
    connection.commit()
    KEPT.append(connection)  # closing it would move the rows into the file


def asks_a_database() -> None:
    connection = sqlite3.connect("file:before.db?mode=ro", uri=True)
    connection.execute("SELECT * FROM rows").fetchall()
    connection.close()


def keeps_rows_in_memory() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (n)")
    connection.close()


def connects() -> None:
    with socket.socket() as ours:
        ours.connect_ex(("127.0.0.1", 9))


def starts_a_process() -> None:
    subprocess.run([sys.executable, "-c", ""], stdin=subprocess.DEVNULL, check=True)


def logged() -> sqlite3.Connection:
    """A database whose log is kept by a connection."""
    connection = sqlite3.connect("logged.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE rows (n)")
    connection.commit()
    return connection


def main() -> None:
    seen: list[Touch] = []
    told = {}
    watch = Watch(seen.append)
    things: list[Callable[[], None]] = [
        value
        for value in globals().values()
        if callable(value)
        and getattr(value, "__module__", None) == __name__
        and value not in (main, logged)
    ]
    for thing in things:
        os.chdir(tempfile.mkdtemp(dir=sys.argv[1]))
        OLD.write_text("x")
        with sqlite3.connect("before.db") as connection:
            connection.execute("CREATE TABLE rows (n)")
        connection.close()
        KEPT.append(logged())
        watch.switch(True)
        thing()
        watch.switch(False)
        told[thing.__name__] = [[one.kind, one.did, one.what, left] for one, left in wrote(seen)]
        seen.clear()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
