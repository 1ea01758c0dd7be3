"""Print every figure: ``python -m benchmarks``; parts of them: ``... benchmarks peers``."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks import decorating, durable, growth, imports, in_memory, resume
from benchmarks import spent as spent_by
from benchmarks.disk import disk_figures
from benchmarks.engines.report import report as beside_engines
from benchmarks.peers.report import report as beside_peers


def main(arguments: Sequence[str]) -> None:
    """Measure and print, one section a table.

    Args:
        arguments: Which of `SECTIONS`, in their order; all of them if none is named.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("section", nargs="*", choices=SECTIONS)
    wanted = parser.parse_args(arguments).section or SECTIONS
    _machine()
    for name, print_section in SECTIONS.items():
        if name in wanted:
            print_section()


def _machine() -> None:
    packages = ("pydantic", "pydantic-core", "anyio", "click", "jsonschema-rs")
    print(
        f"salvor {version('salvor-py')}, Python {sys.version.split()[0]}, "
        f"SQLite {sqlite3.sqlite_version}, "
        + ", ".join(f"{name} {version(name)}" for name in packages)
    )
    print(f"{platform.platform()}, {os.cpu_count()} processors")


def _in_memory() -> None:
    print("\nOne call in memory (median of paired rounds)")
    for name, pair in asyncio.run(in_memory.compare()).items():
        print(
            f"  {name:<28} {pair.ours:8.1f} us   bare pydantic {pair.bare:8.1f} us   "
            f"ratio {pair.ratio:.2f}"
        )
    figures = decorating.compare()
    print(f"  {'decorating':<28} {figures.decorate:8.1f} us")
    print(
        f"  {'registering':<28} {figures.register:8.1f} us   "
        f"create_model + schema {figures.bare:.1f} us   ratio {figures.ratio:.2f}"
    )


def _imports() -> None:
    print("\nStart of a whole process (median)")
    for name, figure in imports.compare().items():
        print(
            f"  {name:<28} {figure.ours:8.1f} ms   {figure.compared_to} {figure.other:.1f} ms   "
            f"ratio {figure.ratio:.2f}"
        )


def _disk() -> None:
    with tempfile.TemporaryDirectory() as folder:
        figures = disk_figures(Path(folder))
    print("\nDisk: 4 KiB writes made durable with fdatasync, one after the other")
    print(f"  growing file                 {figures.growing:8.0f} /s")
    print(f"  preallocated file            {figures.preallocated:8.0f} /s")


_DURABLE = [
    ("1 run", 1, "note", False),
    ("16 runs, group commit", 16, "note", True),
    ("128 runs, group commit", 128, "note", True),
    ("16 runs, declared keys", 16, "pay", True),
    ("16 runs, sync tool", 16, "thread", True),
]


def _durable() -> None:
    _disk()
    print("\nDurable calls a second on SQLite, against a raw loop with the same commits")
    for name, runs, kind, group in _DURABLE:
        figure = asyncio.run(durable.compare(runs, kind, group=group))
        print(
            f"  {name:<28} {figure.ours:8.0f} /s   raw {figure.raw:8.0f} /s   "
            f"ratio {figure.median:.2f} [{figure.low:.2f}..{figure.high:.2f}]"
        )
    print(
        "\nWhere it goes with 16 runs, microseconds a call (one interpreter lock for all threads)"
    )
    for name, spent in asyncio.run(spent_by.compare(16)).items():
        print(
            f"  {name:<28} {spent.wall:8.0f} in all   event loop's thread {spent.loop:6.0f}   "
            f"other threads {spent.others:6.0f}"
        )


def _long() -> None:
    print(
        "\nResuming a run in a fresh process (memory: above one that resumes a run without calls)"
    )
    print(*resume.table(resume.compare()), sep="\n")
    print("\nThe next durable call on SQLite when the log is long (median, in turn)")
    print(*growth.table(asyncio.run(growth.compare())), sep="\n")


SECTIONS: Final[Mapping[str, Callable[[], None]]] = {
    "memory": _in_memory,
    "imports": _imports,
    "durable": _durable,
    "engines": beside_engines,
    "long": _long,
    "peers": beside_peers,
}

if __name__ == "__main__":
    main(sys.argv[1:])
