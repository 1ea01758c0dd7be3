"""The payload of every kind of event, as JSON: the names and the order of the published wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from salvor.events.graph import (
    BranchTaken,
    FoldConverged,
    FoldIterationJoined,
    FoldIterationStarted,
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
    BudgetExceeded,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
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
)
from salvor.events.words import BUDGETS, EFFECTS, EXTENTS, OUTCOMES, known
from salvor.values import JsonObject, JsonValue


def _set(payload: JsonObject, **fields: JsonValue) -> JsonObject:
    for name, value in fields.items():
        if value is not None:
            payload[name] = value
    return payload


def _labels(labels: Mapping[str, str] | None) -> JsonObject | None:
    return {name: labels[name] for name in sorted(labels)} if labels else None


def _started(event: RunStarted) -> JsonObject:
    payload = _set(
        {"agent_def_hash": event.agent_def_hash, "input": event.input},
        labels=_labels(event.labels),
        driven_by=event.driven_by,
        caller=event.caller,
    )
    if event.workflow is not None:
        payload["workflow"] = {
            "name": event.workflow.name,
            "version": event.workflow.version,
            "target": event.workflow.target,
        }
    return payload


def _graph_started(event: GraphRunStarted) -> JsonObject:
    payload = _set(
        {"graph_hash": event.graph_hash, "input": event.input}, labels=_labels(event.labels)
    )
    fork = event.forked_from
    if fork is not None:
        payload["forked_from"] = {
            "run_id": fork.run_id,
            "through_seq": fork.through_seq,
            "from_node": fork.from_node,
            "graph_hash": fork.graph_hash,
            "acknowledged_writes": list(fork.acknowledged_writes),
        }
    return payload


def _model_requested(event: ModelCallRequested) -> JsonObject:
    return _set(
        {"seq": event.seq, "request_hash": event.request_hash},
        request_body=event.request_body,
        performed_by=event.performed_by,
    )


def _model_completed(event: ModelCallCompleted) -> JsonObject:
    return {
        "seq": event.seq,
        "response": event.response,
        "usage": {
            "input_tokens": event.usage.input_tokens,
            "output_tokens": event.usage.output_tokens,
        },
    }


def _requested(event: ToolCallRequested) -> JsonObject:
    payload: JsonObject = {
        "seq": event.seq,
        "tool": event.tool,
        "input": event.input,
        "effect": known(event.effect, EFFECTS, "the effect"),
        "idempotency_key": event.idempotency_key,
    }
    if event.performed_by is not None:
        payload["performed_by"] = event.performed_by
    if event.tool_digest is not None:
        payload["tool_digest"] = event.tool_digest
    if event.given is not None:
        payload["given"] = event.given
    if event.call_id is not None:
        payload["call_id"] = event.call_id
    if event.limit is not None:
        payload["limit"] = event.limit
    return payload


def _completed(event: ToolCallCompleted) -> JsonObject:
    payload: JsonObject = {"seq": event.seq, "output": event.output}
    if event.deduplicated_from is not None:
        origin = event.deduplicated_from
        payload["deduplicated_from"] = {"run_id": origin.run_id, "seq": origin.seq}
    if event.settled_by is not None:
        payload["settled_by"] = event.settled_by
    if event.settled_caller is not None:
        payload["settled_caller"] = event.settled_caller
    if event.outcome is not None:
        payload["outcome"] = known(event.outcome, OUTCOMES, "the outcome")
    if event.extent is not None:
        payload["extent"] = known(event.extent, EXTENTS, "the extent")
    if event.attempts is not None:
        payload["attempts"] = [_attempt(one) for one in event.attempts]
    if event.tool_digest is not None:
        payload["tool_digest"] = event.tool_digest
    return payload


def _attempt(attempt: Attempt) -> JsonObject:
    return {
        "started": attempt.started,
        "cause": attempt.cause,
        "extent": known(attempt.extent, EXTENTS, "the extent"),
    }


def _call(call: ParkedCall | None) -> JsonObject | None:
    if call is None:
        return None
    return _set(
        {
            "tool": call.tool,
            "effect": known(call.effect, EFFECTS, "the effect"),
            "input": call.input,
            "idempotency_key": call.idempotency_key,
        },
        tool_digest=call.tool_digest,
        seq=call.seq,
    )


def _suspended(event: Suspended) -> JsonObject:
    payload = _set(
        {"reason": event.reason, "input_schema": event.input_schema},
        kind="signal" if event.signal else None,
        name=event.name,
        call=_call(event.call),
        deadline=event.deadline,
    )
    if event.default is not None:
        payload["default"] = event.default.value
    return payload


def _resumed(event: Resumed) -> JsonObject:
    return _set(
        {"input": event.input},
        answers=event.answers,
        by=event.by,
        inbox_id=event.inbox_id,
        caller=event.caller,
    )


def _budget(event: BudgetExceeded) -> JsonObject:
    return {
        "budget": {
            "kind": known(event.budget.kind, BUDGETS, "the kind of budget"),
            "limit": event.budget.limit,
        },
        "observed": event.observed,
    }


def _abandoned(event: RunAbandoned) -> JsonObject:
    payload = _set({}, reason=event.reason)
    write = event.unresolved_write
    if write is not None:
        payload["unresolved_write"] = {"seq": write.seq, "tool": write.tool}
    return _set(payload, caller=event.caller)


ENCODERS: Mapping[type[Any], Callable[[Any], JsonObject]] = {
    RunStarted: _started,
    GraphRunStarted: _graph_started,
    ModelCallRequested: _model_requested,
    ModelCallCompleted: _model_completed,
    ToolCallRequested: _requested,
    ToolCallCompleted: _completed,
    NowObserved: lambda event: {"now": event.now},
    RandomObserved: lambda event: {"value": event.value},
    Suspended: _suspended,
    Resumed: _resumed,
    SleepStarted: lambda event: _set({"wake_at": event.wake_at}, call=_call(event.call)),
    SleepCompleted: lambda event: {},
    BudgetExceeded: _budget,
    RunCompleted: lambda event: {"output": event.output},
    RunFailed: lambda event: {"error": event.error},
    RunAbandoned: _abandoned,
    NodeEntered: lambda event: {"node": event.node},
    NodeExited: lambda event: {"node": event.node},
    NodeSkipped: lambda event: {"node": event.node, "reason": event.reason},
    BranchTaken: lambda event: {"node": event.node, "case": event.case},
    MapFannedOut: lambda event: {"node": event.node, "items": list(event.items)},
    MapIterationStarted: lambda event: {
        "node": event.node,
        "index": event.index,
        "child_run": event.child_run,
    },
    MapIterationJoined: lambda event: {"node": event.node, "index": event.index},
    FoldIterationStarted: lambda event: {"node": event.node, "index": event.index},
    FoldIterationJoined: lambda event: {"node": event.node, "index": event.index},
    FoldConverged: lambda event: {
        "node": event.node,
        "winner_index": event.winner_index,
        "reason": event.reason,
    },
}
