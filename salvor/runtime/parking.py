"""A call whose tool parked its run: what is recorded of it, and what it gives in the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from salvor.errors import JsonRefused, ToolDefinitionError
from salvor.events.vocabulary import (
    Attempt,
    OutcomeName,
    ParkedCall,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    sleep_output,
    suspend_output,
)
from salvor.runtime.policy import Fault
from salvor.tools.function import FunctionTool
from salvor.tools.parking import SleepRequest, SuspendRequest
from salvor.tools.schema import ValueType
from salvor.values import JsonObject, JsonValue, as_json, format_instant


@dataclass(frozen=True, slots=True)
class Asks:
    """The body wants an answer; ``signal`` names the signal it waits for, if it is one."""

    reason: str
    schema: JsonValue
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class Sleeps:
    """The body wants its call to end at an instant (RFC 3339)."""

    wake_at: str


Parking: TypeAlias = Asks | Sleeps


def parking_of(tool: FunctionTool, result: SuspendRequest | SleepRequest) -> Parking | Fault:
    """What a body asked for, or why that cannot be read: then it happened all the same (A2)."""
    try:
        if isinstance(result, SleepRequest):
            return Sleeps(_instant(result.until))
        reason = result.reason
        if not isinstance(reason, str):
            raise JsonRefused(f"the reason has to be text, got {reason!r}")
        as_json(reason, what="the reason")
        return Asks(reason, _schema(tool, result), _signal(tool, result.signal))
    except (JsonRefused, ToolDefinitionError) as error:
        message = f"its park request cannot be read: {error.message}"
        return Fault(message=message, extent="yes", kind="output_serialization", final=True)


def _instant(until: object) -> str:
    if not isinstance(until, datetime):
        raise JsonRefused(f"sleep_until takes an aware datetime, got {until!r}")
    return format_instant(until)


def _schema(tool: FunctionTool, request: SuspendRequest) -> JsonValue:
    return ValueType(request.answer, where=f"the answer that {tool.name} asks for").schema


def _signal(tool: FunctionTool, signal: object) -> str | None:
    if isinstance(signal, bool):
        return tool.name if signal else None
    if isinstance(signal, str) and signal.strip():
        as_json(signal, what="the signal's name")
        return signal
    raise JsonRefused(f"signal has to be a name, True or False, got {signal!r}")


def parked(
    parking: Parking, intent: ToolCallRequested, attempts: tuple[Attempt, ...] | None
) -> tuple[ToolCallCompleted, Suspended | SleepStarted]:
    """The completion and the park that are recorded together."""
    call = ParkedCall(
        tool=intent.tool,
        effect=intent.effect,
        input=intent.input,
        idempotency_key=intent.idempotency_key,
        tool_digest=intent.tool_digest,
        seq=intent.seq,
    )
    if isinstance(parking, Sleeps):
        completion = _completion(intent, sleep_output(parking.wake_at), "sleep", attempts)
        return completion, SleepStarted(wake_at=parking.wake_at, call=call)
    signal = parking.signal is not None
    output = suspend_output(reason=parking.reason, input_schema=parking.schema, signal=signal)
    return _completion(intent, output, "suspend", attempts), Suspended(
        reason=parking.reason,
        input_schema=parking.schema,
        signal=signal,
        name=parking.signal,
        call=call,
    )


def _completion(
    intent: ToolCallRequested,
    output: JsonObject,
    outcome: OutcomeName,
    attempts: tuple[Attempt, ...] | None,
) -> ToolCallCompleted:
    return ToolCallCompleted(seq=intent.seq, output=output, outcome=outcome, attempts=attempts)
