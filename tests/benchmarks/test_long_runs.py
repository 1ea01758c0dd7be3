"""The figures of long runs: what is printed, and that runs of few events are measured."""

from __future__ import annotations

import pytest

from benchmarks import growth, resume
from benchmarks.resume import Resume


def test_a_resume_is_shown_with_its_rate_and_how_it_grows() -> None:
    rows = [
        Resume(kind="SQLite", events=10_000, seconds=0.5, peak=12.4),
        Resume(kind="SQLite", events=100_000, seconds=6.0, peak=120.6),
    ]

    assert resume.table(rows) == [
        "  SQLite      10,000 events     0.50 s      20,000 events/s        12 MB",
        "  SQLite     100,000 events     6.00 s      16,667 events/s       121 MB",
        "  SQLite: 10.0 times the events take 12.0 times the seconds",
    ]


def test_runs_are_built_and_resumed_in_processes_of_their_own() -> None:
    rows = resume.compare(sizes=(4, 8), rounds=1)

    assert [(row.kind, row.events) for row in rows] == [
        ("SQLite", 4),
        ("SQLite", 8),
        ("memory", 4),
        ("memory", 8),
    ]
    assert all(row.seconds > 0 for row in rows)


def test_costs_are_shown_as_ratios_to_the_shortest_log() -> None:
    assert growth.table({1_000: 250.0, 0: 200.0}) == [
        "     1,000 events before           250 us   ratio 1.25",
        "         0 events before           200 us   ratio 1.00",
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_each_length_has_its_turn() -> None:
    found = await growth.compare(lengths=(0, 4), rounds=1)

    assert list(found) == [0, 4]
    assert all(cost > 0 for cost in found.values())
