"""The events of graph runs: the head, and the markers a walk leaves behind.

Kinds and field names are those of the published clients. salvor writes none of them by
itself; logs that hold them are read, listed, shown and replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from salvor.values import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkedFrom:
    """Where a forked run has its first events from."""

    run_id: str
    through_seq: int
    from_node: str
    graph_hash: str
    acknowledged_writes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRunStarted:
    """The head of a graph run."""

    kind: ClassVar[str] = "GraphRunStarted"
    graph_hash: str
    input: JsonValue
    labels: dict[str, str] | None = None
    forked_from: ForkedFrom | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEntered:
    """The walk is in a node."""

    kind: ClassVar[str] = "NodeEntered"
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeExited:
    """The walk has left a node."""

    kind: ClassVar[str] = "NodeExited"
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSkipped:
    """The walk went past a node."""

    kind: ClassVar[str] = "NodeSkipped"
    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchTaken:
    """Which way a branch went."""

    kind: ClassVar[str] = "BranchTaken"
    node: str
    case: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapFannedOut:
    """What a map goes over."""

    kind: ClassVar[str] = "MapFannedOut"
    node: str
    items: tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapIterationStarted:
    """One item of a map begins; ``child_run`` is a content hash, no log."""

    kind: ClassVar[str] = "MapIterationStarted"
    node: str
    index: int
    child_run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MapIterationJoined:
    """One item of a map is done."""

    kind: ClassVar[str] = "MapIterationJoined"
    node: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldIterationStarted:
    """One pass of a fold begins."""

    kind: ClassVar[str] = "FoldIterationStarted"
    node: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldIterationJoined:
    """One pass of a fold is done."""

    kind: ClassVar[str] = "FoldIterationJoined"
    node: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldConverged:
    """Which pass of a fold counts."""

    kind: ClassVar[str] = "FoldConverged"
    node: str
    winner_index: int
    reason: str
