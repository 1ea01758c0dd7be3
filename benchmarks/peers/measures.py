"""Interleaved rounds: every side once in each, so that a slow moment meets all of them."""

from __future__ import annotations

import gc
import statistics
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from time import perf_counter

from benchmarks.peers.case import TEXT, copies, pay
from benchmarks.peers.peer import CallPath, Lists, Registering

ROUNDS = 15
CALLS = 500
FUNCTIONS = 100
LISTED = 1000
LISTINGS = 7


@dataclass(frozen=True, slots=True)
class Figure:
    """A median of rounds, and the median of its ratios to the floor in the same rounds."""

    value: float
    ratio: float


def figures(rounds: Mapping[str, list[float]], floor: str) -> dict[str, Figure]:
    """The medians; ratios are taken within each round."""
    return {
        name: Figure(
            statistics.median(values),
            statistics.median(
                one / other for one, other in zip(values, rounds[floor], strict=True)
            ),
        )
        for name, values in rounds.items()
    }


async def called(
    paths: list[CallPath], *, rounds: int = ROUNDS, calls: int = CALLS
) -> dict[str, list[float]]:
    """Microseconds a call, by way and round."""
    async with AsyncExitStack() as stack:
        opened = {path.name: await stack.enter_async_context(path.open(pay)) for path in paths}
        for many in opened.values():
            await many(TEXT, calls)
        return await _interleaved(
            {name: _timed_calls(many, calls) for name, many in opened.items()}, rounds
        )


def _timed_calls(
    many: Callable[[str, int], Awaitable[object]], calls: int
) -> Callable[[], Awaitable[float]]:
    async def timed() -> float:
        started = perf_counter()
        await many(TEXT, calls)
        return (perf_counter() - started) / calls * 1e6

    return timed


async def registered(
    ways: list[Registering], *, rounds: int = ROUNDS, functions: int = FUNCTIONS
) -> dict[str, list[float]]:
    """Microseconds to register one function nobody has seen before, by way and round."""

    def timing(way: Registering) -> Callable[[], Awaitable[float]]:
        async def timed() -> float:
            fresh, register = copies(functions), way.open()
            started = perf_counter()
            for function in fresh:
                register(function)
            return (perf_counter() - started) / functions * 1e6

        return timed

    measures = {way.name: timing(way) for way in ways}
    await _interleaved(measures, 1)
    return await _interleaved(measures, rounds)


async def listed(
    forms: list[Lists], *, rounds: int = LISTINGS, tools: int = LISTED
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Milliseconds of the first listing of many tools, and of later ones by round."""
    opened = {form.name: form.open(copies(tools)) for form in forms}

    def timing(name: str) -> Callable[[], Awaitable[float]]:
        async def timed() -> float:
            started = perf_counter()
            definitions = await opened[name]()
            spent = (perf_counter() - started) * 1e3
            assert len(definitions) == tools, f"{name} lists {len(definitions)} of {tools}"
            return spent

        return timed

    measures = {name: timing(name) for name in opened}
    first = await _interleaved(measures, 1)
    later = await _interleaved(measures, rounds)
    return {name: values[0] for name, values in first.items()}, later


async def _interleaved(
    measures: Mapping[str, Callable[[], Awaitable[float]]], rounds: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in measures}
    with _frozen():
        for _ in range(rounds):
            for name, measure in measures.items():
                gc.collect()
                found[name].append(await measure())
    return found


@contextmanager
def _frozen() -> Iterator[None]:
    """What was imported is no work for the collector, which otherwise runs as it always does."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
