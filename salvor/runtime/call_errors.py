"""What a call says that is not made, or failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from salvor.errors import ArgumentsRefused, JsonRefused, ToolFailed
from salvor.events.vocabulary import (
    ERROR_SENTINEL,
    ToolCallCompleted,
    ToolCallRequested,
    failure_output,
)
from salvor.run_errors import ToolChanged
from salvor.runtime.causes import storable
from salvor.tools.function import FunctionTool
from salvor.values import MAX_ARGUMENT_BYTES, JsonObject, JsonValue, as_json


def bound(tool: FunctionTool, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> JsonObject:
    """The raw arguments of a call with Python values.

    Raises:
        ToolFailed: they have no JSON form; nothing was recorded.
    """
    try:
        return tool.bind(args, kwargs)
    except (JsonRefused, ArgumentsRefused) as error:
        raise ToolFailed(
            tool=tool.name, kind="invalid_input", message=error.message, extent="no"
        ) from error


def check_named(name: object, raw: object) -> None:
    """Refuse a call by name that no log can hold.

    Raises:
        ToolFailed: its name is no text, or its arguments are no JSON; nothing was recorded.
    """
    try:
        if type(name) is not str:
            raise JsonRefused(f"the name of a tool has to be text, got {name!r:.50}.")
        if len(name) > MAX_ARGUMENT_BYTES:
            raise JsonRefused(f"a name of {len(name):,} characters is that of no tool.")
        as_json(name, what="the name of the tool")
        as_json(raw, what=f"the arguments of {name}")
    except JsonRefused as error:
        raise ToolFailed(
            tool=storable(f"{name!s:.64}"), kind="invalid_input", message=error.message, extent="no"
        ) from None


def refused(intent: ToolCallRequested, kind: str, message: str) -> ToolCallCompleted:
    """The completion of a call that was refused before anything happened."""
    return ToolCallCompleted(
        seq=intent.seq,
        output=failure_output(kind=kind, message=message, attempts=0),
        outcome="error",
        extent="no",
    )


def changed_since(run_id: str, intent: ToolCallRequested, tool: FunctionTool) -> ToolChanged:
    """Why an open call is not made again by a tool that is another one now (B5)."""
    differs = [f"it is {tool.effect} now and was {intent.effect}"] * (tool.effect != intent.effect)
    try:
        assert isinstance(intent.input, dict)
        tool.prepare(intent.input)
    except ArgumentsRefused as error:
        differs.append(f"the recorded arguments do not fit it any more ({error.message})")
    return ToolChanged(
        run_id=run_id,
        seq=intent.seq,
        tool=tool.name,
        recorded=intent.tool_digest or "",
        found=tool.digest,
        differs=differs,
        in_session=intent.call_id is not None,
    )


def failure(intent: ToolCallRequested, completion: ToolCallCompleted) -> ToolFailed:
    """The error that a recorded failure raises."""
    told: JsonValue = completion.output
    body = told.get(ERROR_SENTINEL) if isinstance(told, dict) else None
    fields = body if isinstance(body, dict) else {}
    attempts = fields.get("attempts")
    return ToolFailed(
        tool=intent.tool,
        kind=str(fields.get("kind", "handler")),
        message=str(fields.get("message", "the call failed")),
        extent=completion.extent or "unknown",
        attempts=attempts if isinstance(attempts, int) else 0,
    )
