"""Who is compared, and which of them are installed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from benchmarks.peers.peer import Peer

INSTALL: Final = "pip install -e '.[bench]'"


@dataclass(frozen=True, slots=True)
class Entry:
    """The module of an adapter, and the distribution it needs."""

    module: str
    distribution: str


OURS: Final = "salvor"
FLOOR: Final = "pydantic"
ENTRIES: Final[Mapping[str, Entry]] = {
    FLOOR: Entry("benchmarks.peers.with_pydantic", "pydantic"),
    OURS: Entry("benchmarks.peers.with_salvor", "salvor-py"),
    "pydantic-ai": Entry("benchmarks.peers.with_pydantic_ai", "pydantic-ai-slim"),
    "fastmcp": Entry("benchmarks.peers.with_fastmcp", "fastmcp"),
    "mcp": Entry("benchmarks.peers.with_mcp_sdk", "mcp"),
    "openai-agents": Entry("benchmarks.peers.with_openai_agents", "openai-agents"),
    "langchain-core": Entry("benchmarks.peers.with_langchain_core", "langchain-core"),
}
PEERS: Final = tuple(name for name in ENTRIES if name not in (FLOOR, OURS))


def installed_version(distribution: str) -> str | None:
    """The version that is installed here, if one is."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def missing(look: Callable[[str], str | None] = installed_version) -> list[str]:
    """The peers that are not installed, in order."""
    return [name for name in PEERS if look(ENTRIES[name].distribution) is None]


def load(name: str) -> Peer:
    """The adapter of one side."""
    peer: Peer = import_module(ENTRIES[name].module).PEER
    return peer
