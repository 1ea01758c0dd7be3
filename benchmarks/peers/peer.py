"""The shape of an adapter: how one side is imported, fed, called and listed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeAlias

from benchmarks.peers.case import Function

Definitions: TypeAlias = Sequence[Mapping[str, Any]]
Calls: TypeAlias = Callable[[str, int], Awaitable[object]]
Register: TypeAlias = Callable[[Function], object]
Listing: TypeAlias = Callable[[], Awaitable[Definitions]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPath:
    """One way to make calls.

    Attributes:
        name: Its row in the tables.
        says: In words, from the JSON text to what would be sent on.
        open: Registers a function and gives what calls it: a text, so many times; it gives
            back the last result, and raises when a call is refused.
    """

    name: str
    says: str
    open: Callable[[Function], AbstractAsyncContextManager[Calls]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registering:
    """One way to register functions: what is made once, and what is done for each."""

    name: str
    says: str
    open: Callable[[], Register]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """One form in which tools are listed, for functions that are registered first."""

    name: str
    says: str
    open: Callable[[Sequence[Function]], Listing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One side.

    Attributes:
        name: As the tables have it.
        imports: Statements that give the names a program with one tool needs.
        calls: Ways to call; the first is the plainest.
        registering: Ways to register.
        lists: Forms of a listing.
    """

    name: str
    imports: tuple[str, ...]
    calls: tuple[CallPath, ...]
    registering: tuple[Registering, ...]
    lists: tuple[Lists, ...]


def repeated(call: Callable[[str], Awaitable[object]]) -> Calls:
    """The same call, several times over."""

    async def many(text: str, count: int) -> object:
        last: object = None
        for _ in range(count):
            last = await call(text)
        return last

    return many
