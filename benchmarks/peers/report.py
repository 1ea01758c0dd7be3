"""The tables: ``python -m benchmarks peers``."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterable, Mapping
from textwrap import fill
from typing import Final

from benchmarks.peers import measures
from benchmarks.peers.catalogue import (
    ENTRIES,
    FLOOR,
    INSTALL,
    OURS,
    PEERS,
    installed_version,
    load,
    missing,
)
from benchmarks.peers.measures import Figure, figures
from benchmarks.peers.peer import Peer
from benchmarks.peers.starting import Start, started
from benchmarks.peers.trials import TRIALS, Found, documents, shares, tried

_WIDE: Final = 30


def report(
    look: Callable[[str], str | None] = installed_version,
    loading: Callable[[str], Peer] = load,
) -> None:
    """Measure those who are installed, and say who is not.

    Args:
        look: Gives the version of a distribution, if it is installed.
        loading: Gives an adapter by its name.
    """
    absent = missing(look)
    if absent:
        print(f"\nPeers that are not installed: {', '.join(absent)}; {INSTALL} brings them.")
    if len(absent) == len(PEERS):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sides = asyncio.run(_usable([name for name in PEERS if name not in absent], loading))
        if not sides:
            return
        print("\nPeers: " + ", ".join(map(_with_version, sides)))
        sides = {FLOOR: load(FLOOR), OURS: load(OURS), **sides}
        asyncio.run(_in_process(sides))
    _starts(sides)


async def _usable(names: Iterable[str], loading: Callable[[str], Peer]) -> dict[str, Peer]:
    """The adapters that still fit the release that is installed."""
    found: dict[str, Peer] = {}
    for name in names:
        try:
            peer = loading(name)
            for path in peer.calls:
                await tried(path)
        except Exception as error:
            print(f"\n{name} cannot be measured: {type(error).__name__}: {error}")
        else:
            found[name] = peer
    return found


def _with_version(name: str) -> str:
    distribution = ENTRIES[name].distribution
    return f"{distribution} {installed_version(distribution)}"


async def _in_process(peers: Mapping[str, Peer]) -> None:
    found = {path.name: await tried(path) for peer in peers.values() for path in peer.calls}
    await _calls(peers, found)
    _trials(found)
    await _registering(peers)
    await _listing(peers)


async def _calls(peers: Mapping[str, Peer], found: Mapping[str, Found]) -> None:
    paths = [path for peer in peers.values() for path in peer.calls]
    floor = peers[FLOOR].calls[0].name
    table = figures(await measures.called(paths), floor)
    print("\nOne call: the JSON text of its arguments in, what would be sent on out")
    _table(table, "us", floor)
    ours = [path.name for path in peers[OURS].calls]
    theirs = {
        name: figure.value
        for name, figure in table.items()
        if name not in (*ours, floor) and found[name].validates
    }
    _against(table[ours[0]].value, theirs, ours[0], "fastest that validates")
    checking = {name: value for name, value in theirs.items() if found[name].checks_output}
    _against(table[ours[0]].value, checking, ours[0], "fastest that checks the output too")
    _in_words((path.name, path.says) for path in paths)


def _trials(found: Mapping[str, Found]) -> None:
    print("\nWhat is refused, as tried in this run")
    print(" " * (_WIDE + 2) + "".join(f"{name:>17}" for name in TRIALS))
    for path, one in found.items():
        print(f"  {path:<{_WIDE}}" + "".join(f"{one.verdicts[name]:>17}" for name in TRIALS))


async def _registering(peers: Mapping[str, Peer]) -> None:
    ways = [way for peer in peers.values() for way in peer.registering]
    floor = peers[FLOOR].registering[0].name
    table = figures(await measures.registered(ways), floor)
    print("\nRegistering one function")
    _table(table, "us", floor)
    ours = [way.name for way in peers[OURS].registering]
    theirs = {name: one.value for name, one in table.items() if name not in (*ours, floor)}
    for name in ours:
        _against(table[name].value, theirs, name, "fastest peer")
    _in_words((way.name, way.says) for way in ways)


async def _listing(peers: Mapping[str, Peer]) -> None:
    forms = [form for peer in peers.values() for form in peer.lists]
    floor = peers[FLOOR].lists[0].name
    parameters = {form.name: await documents(form) for form in forms}
    shared = {form.name: await shares(form) for form in forms}
    first, later = await measures.listed(forms)
    table = figures(later, floor)
    print(f"\nListing {measures.LISTED:,} tools as definitions of plain dicts")
    for name, figure in table.items():
        faults = ("parameters not described", not parameters[name]), ("shared", shared[name])
        said = "".join(f"   {fault}" for fault, there in faults if there)
        print(
            f"  {name:<{_WIDE}} {figure.value:9.2f} ms   the first time {first[name]:9.2f} ms{said}"
        )
    print("  (shared: what one listing hands out is part of the next one, as tried in this run)")
    ours = [form.name for form in peers[OURS].lists]
    theirs = {name: one.value for name, one in table.items() if name not in (*ours, floor)}
    copies = {name: value for name, value in theirs.items() if not shared[name]}
    for name in ours:
        _against(table[name].value, theirs, name, "fastest peer")
        _against(table[name].value, copies, name, "fastest peer that shares nothing")
    _in_words((form.name, form.says) for form in forms)


def _starts(peers: Mapping[str, Peer]) -> None:
    imports = {statement: statement for peer in peers.values() for statement in peer.imports}
    table = started({"python itself": "pass", **imports})
    print("\nImporting: whole processes")
    _started(table)
    theirs = {
        statement: table[statement].millis
        for name, peer in peers.items()
        if name not in (FLOOR, OURS)
        for statement in peer.imports
    }
    for statement in peers[OURS].imports:
        _against(table[statement].millis, theirs, statement, "fastest peer")
    programs = {
        path.name: f"from benchmarks.peers.once import once\nonce({name!r}, {index})"
        for name, peer in peers.items()
        for index, path in enumerate(peer.calls)
    }
    print("\nImporting, registering one function and calling it once: whole processes")
    whole = started(programs)
    _started(whole)
    theirs = {
        path.name: whole[path.name].millis
        for name, peer in peers.items()
        if name not in (FLOOR, OURS)
        for path in peer.calls
    }
    for path in peers[OURS].calls:
        _against(whole[path.name].millis, theirs, path.name, "fastest peer")


def _started(table: Mapping[str, Start]) -> None:
    wide = max(map(len, table))
    for name, start in table.items():
        print(f"  {name:<{wide}} {start.millis:9.0f} ms   {start.modules:5} modules")


def _table(table: Mapping[str, Figure], unit: str, floor: str) -> None:
    for name, figure in table.items():
        ratio = "" if name == floor else f"   {figure.ratio:6.2f} x {floor}"
        print(f"  {name:<{_WIDE}} {figure.value:9.1f} {unit}{ratio}")


def _against(ours: float, theirs: Mapping[str, float], name: str, which: str) -> None:
    if not theirs:
        return
    best = min(theirs, key=theirs.__getitem__)
    ratio = ours / theirs[best]
    word = "slower" if ratio > 1 else "as fast or faster"
    print(f"  {name} is {ratio:.2f} x the {which} ({best}): {word}")


def _in_words(rows: Iterable[tuple[str, str]]) -> None:
    for name, says in rows:
        print(fill(f"{name}: {says}", 100, initial_indent="    ", subsequent_indent="      "))
