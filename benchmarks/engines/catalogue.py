"""Who is compared, and what has to be installed for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from benchmarks.engines.engine import Engine


@dataclass(frozen=True, slots=True)
class Entry:
    """The module of an adapter, and the distributions it needs."""

    module: str
    distributions: Sequence[str] = ()


OURS: Final = "salvor"
ENTRIES: Final[Mapping[str, Entry]] = {
    OURS: Entry("benchmarks.engines.with_salvor"),
    "DBOS": Entry("benchmarks.engines.with_dbos", ["dbos"]),
    "LangGraph": Entry(
        "benchmarks.engines.with_langgraph", ["langgraph", "langgraph-checkpoint-sqlite"]
    ),
}
DISTRIBUTIONS: Final = tuple(one for entry in ENTRIES.values() for one in entry.distributions)


def present(look: Callable[[str], str | None]) -> list[str]:
    """Those whose distributions are all installed; ours comes first."""
    return [name for name, entry in ENTRIES.items() if all(map(look, entry.distributions))]


def load(name: str) -> Engine:
    """The adapter of one engine."""
    engine: Engine = import_module(ENTRIES[name].module).ENGINE
    return engine
