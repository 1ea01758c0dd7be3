"""Events of stored payloads: unknown fields are ignored, missing and mistyped ones named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from salvor.events.fields import Fields
from salvor.events.graph import (
    BranchTaken,
    FoldConverged,
    FoldIterationJoined,
    FoldIterationStarted,
    ForkedFrom,
    GraphRunStarted,
    MapFannedOut,
    MapIterationJoined,
    MapIterationStarted,
    NodeEntered,
    NodeExited,
    NodeSkipped,
)
from salvor.events.vocabulary import (
    Attempt,
    Budget,
    BudgetExceeded,
    Default,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    Origin,
    ParkedCall,
    RandomObserved,
    Resumed,
    RunAbandoned,
    RunCompleted,
    RunFailed,
    RunStarted,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    UnresolvedWrite,
    Usage,
    WorkflowRef,
)
from salvor.events.words import BUDGETS, EFFECTS, EXTENTS, OUTCOMES


def _started(fields: Fields) -> RunStarted:
    ref = fields.optional_inner("workflow")
    return RunStarted(
        agent_def_hash=fields.get("agent_def_hash", str),
        input=fields.json("input"),
        labels=fields.texts("labels"),
        driven_by=fields.optional_one_of("driven_by", ("client",)),
        caller=fields.optional("caller", str),
        workflow=None if ref is None else _workflow(ref),
    )


def _workflow(fields: Fields) -> WorkflowRef:
    return WorkflowRef(
        name=fields.get("name", str),
        version=fields.get("version", str),
        target=fields.get("target", str),
    )


def _graph_started(fields: Fields) -> GraphRunStarted:
    fork = fields.optional_inner("forked_from")
    return GraphRunStarted(
        graph_hash=fields.get("graph_hash", str),
        input=fields.json("input"),
        labels=fields.texts("labels"),
        forked_from=None if fork is None else _fork(fork),
    )


def _fork(fields: Fields) -> ForkedFrom:
    writes: Any = fields.optional("acknowledged_writes", list) or []
    if any(type(seq) is not int for seq in writes):
        raise fields.malformed("the field 'acknowledged_writes' holds something that is no int")
    return ForkedFrom(
        run_id=fields.get("run_id", str),
        through_seq=fields.get("through_seq", int),
        from_node=fields.get("from_node", str),
        graph_hash=fields.get("graph_hash", str),
        acknowledged_writes=tuple(writes),
    )


def _model_requested(fields: Fields) -> ModelCallRequested:
    return ModelCallRequested(
        seq=fields.get("seq", int),
        request_hash=fields.get("request_hash", str),
        request_body=fields.json("request_body") if fields.has("request_body") else None,
        performed_by=fields.optional_one_of("performed_by", ("client",)),
    )


def _model_completed(fields: Fields) -> ModelCallCompleted:
    usage = fields.inner("usage")
    return ModelCallCompleted(
        seq=fields.get("seq", int),
        response=fields.json("response"),
        usage=Usage(
            input_tokens=usage.get("input_tokens", int),
            output_tokens=usage.get("output_tokens", int),
        ),
    )


def _requested(fields: Fields) -> ToolCallRequested:
    return ToolCallRequested(
        seq=fields.get("seq", int),
        tool=fields.get("tool", str),
        input=fields.json("input"),
        effect=fields.one_of("effect", EFFECTS),
        idempotency_key=fields.optional("idempotency_key", str),
        performed_by=fields.optional_one_of("performed_by", ("server", "client")),
        tool_digest=fields.optional("tool_digest", str),
        given=fields.optional("given", str),
        call_id=fields.optional("call_id", str),
        limit=fields.number("limit") if fields.has("limit") else None,
    )


def _completed(fields: Fields) -> ToolCallCompleted:
    origin = fields.optional_inner("deduplicated_from")
    attempts = fields.items("attempts")
    return ToolCallCompleted(
        seq=fields.get("seq", int),
        output=fields.json("output"),
        deduplicated_from=None
        if origin is None
        else Origin(run_id=origin.get("run_id", str), seq=origin.get("seq", int)),
        settled_by=fields.optional("settled_by", str),
        settled_caller=fields.optional("settled_caller", str),
        outcome=fields.optional_one_of("outcome", OUTCOMES),
        extent=fields.optional_one_of("extent", EXTENTS),
        attempts=None if attempts is None else tuple(map(_attempt, attempts)),
        tool_digest=fields.optional("tool_digest", str),
    )


def _attempt(fields: Fields) -> Attempt:
    return Attempt(
        started=fields.get("started", str),
        cause=fields.get("cause", str),
        extent=fields.one_of("extent", EXTENTS),
    )


def _call(fields: Fields | None) -> ParkedCall | None:
    if fields is None:
        return None
    return ParkedCall(
        tool=fields.get("tool", str),
        effect=fields.one_of("effect", EFFECTS),
        input=fields.json("input"),
        idempotency_key=fields.optional("idempotency_key", str),
        tool_digest=fields.optional("tool_digest", str),
        seq=fields.optional("seq", int),
    )


def _suspended(fields: Fields) -> Suspended:
    return Suspended(
        reason=fields.get("reason", str),
        input_schema=fields.json("input_schema"),
        signal=fields.optional_one_of("kind", ("signal",)) is not None,
        name=fields.optional("name", str),
        call=_call(fields.optional_inner("call")),
        deadline=fields.optional("deadline", str),
        default=Default(value=fields.json("default")) if fields.has("default") else None,
    )


def _resumed(fields: Fields) -> Resumed:
    return Resumed(
        input=fields.json("input"),
        answers=fields.optional("answers", int),
        by=fields.optional("by", str),
        inbox_id=fields.optional("inbox_id", int),
        caller=fields.optional("caller", str),
    )


def _budget(fields: Fields) -> BudgetExceeded:
    budget = fields.inner("budget")
    return BudgetExceeded(
        budget=Budget(kind=budget.one_of("kind", BUDGETS), limit=budget.number("limit")),
        observed=fields.number("observed"),
    )


def _abandoned(fields: Fields) -> RunAbandoned:
    write = fields.optional_inner("unresolved_write")
    return RunAbandoned(
        reason=fields.optional("reason", str),
        unresolved_write=None
        if write is None
        else UnresolvedWrite(seq=write.get("seq", int), tool=write.get("tool", str)),
        caller=fields.optional("caller", str),
    )


def _node(fields: Fields) -> str:
    return fields.get("node", str)


DECODERS: Mapping[str, Callable[[Fields], Event]] = {
    "RunStarted": _started,
    "GraphRunStarted": _graph_started,
    "ModelCallRequested": _model_requested,
    "ModelCallCompleted": _model_completed,
    "ToolCallRequested": _requested,
    "ToolCallCompleted": _completed,
    "NowObserved": lambda fields: NowObserved(now=fields.get("now", str)),
    "RandomObserved": lambda fields: RandomObserved(value=fields.get("value", int)),
    "Suspended": _suspended,
    "Resumed": _resumed,
    "SleepStarted": lambda fields: SleepStarted(
        wake_at=fields.get("wake_at", str), call=_call(fields.optional_inner("call"))
    ),
    "SleepCompleted": lambda fields: SleepCompleted(),
    "BudgetExceeded": _budget,
    "RunCompleted": lambda fields: RunCompleted(output=fields.json("output")),
    "RunFailed": lambda fields: RunFailed(error=fields.get("error", str)),
    "RunAbandoned": _abandoned,
    "NodeEntered": lambda fields: NodeEntered(node=_node(fields)),
    "NodeExited": lambda fields: NodeExited(node=_node(fields)),
    "NodeSkipped": lambda fields: NodeSkipped(node=_node(fields), reason=fields.get("reason", str)),
    "BranchTaken": lambda fields: BranchTaken(node=_node(fields), case=fields.get("case", str)),
    "MapFannedOut": lambda fields: MapFannedOut(
        node=_node(fields), items=tuple(fields.get("items", list))
    ),
    "MapIterationStarted": lambda fields: MapIterationStarted(
        node=_node(fields),
        index=fields.get("index", int),
        child_run=fields.get("child_run", str),
    ),
    "MapIterationJoined": lambda fields: MapIterationJoined(
        node=_node(fields), index=fields.get("index", int)
    ),
    "FoldIterationStarted": lambda fields: FoldIterationStarted(
        node=_node(fields), index=fields.get("index", int)
    ),
    "FoldIterationJoined": lambda fields: FoldIterationJoined(
        node=_node(fields), index=fields.get("index", int)
    ),
    "FoldConverged": lambda fields: FoldConverged(
        node=_node(fields),
        winner_index=fields.get("winner_index", int),
        reason=fields.get("reason", str),
    ),
}
