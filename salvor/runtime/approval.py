"""Asking a person before a call is made, and what the answer allows (DURABILITY D2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from salvor.events.vocabulary import Default, ParkedCall, Suspended
from salvor.runtime.host import Host
from salvor.tools.approval import NO, SCHEMA, Asked, approval_of, is_yes, may_ask, note_of
from salvor.tools.function import FunctionTool
from salvor.values import (
    JsonObject,
    JsonValue,
    canonical_json,
    format_instant,
    same_json,
)

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, to which call."""

    call: ParkedCall
    given: JsonValue

    @property
    def yes(self) -> bool:
        """Whether it was an explicit yes."""
        return is_yes(self.given)

    @property
    def refusal(self) -> str:
        """What the caller is told after a no."""
        note = note_of(self.given)
        return f"it was not approved: {note}" if note else "it was not approved"

    def covers(self, call: ParkedCall) -> bool:
        """Whether the answer was to exactly this call (D2)."""
        asked = self.call
        return (
            asked.tool == call.tool
            and asked.effect == call.effect
            and asked.idempotency_key == call.idempotency_key
            and asked.tool_digest == call.tool_digest
            and same_json(asked.input, call.input)
        )


class Approvals:
    """Which calls of a run need approval, and what is asked."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def may_ask(self, tool: FunctionTool) -> bool:
        """Whether a call of the tool may need approval."""
        return may_ask(tool, self._host.approvals)

    def asked(self, tool: FunctionTool, arguments: JsonObject) -> Asked | None:
        """Whether this call needs approval."""
        return approval_of(tool, arguments, self._host.approvals)

    def park(self, asked: Asked, call: ParkedCall) -> Suspended:
        """The park that asks."""
        deadline = None
        if asked.deadline is not None:
            at = self._host.clock.now() + timedelta(seconds=asked.deadline)
            deadline = format_instant(at)
        return Suspended(
            reason=f"Approve {call.tool}{_shown(call.input)} [{call.effect}]?",
            input_schema=SCHEMA,
            call=call,
            deadline=deadline,
            default=Default(value=NO) if deadline is not None else None,
        )


def call_to_approve(
    tool: FunctionTool, arguments: JsonObject, declared_key: str | None
) -> ParkedCall:
    """The call as an approval is bound to it; an undeclared key is none of its own yet."""
    return ParkedCall(
        tool=tool.name,
        effect=tool.effect,
        input=arguments,
        idempotency_key=declared_key,
        tool_digest=tool.digest,
    )


def is_approval(event: Any) -> bool:
    """Whether an event asks for the approval of a call that was not made."""
    return isinstance(event, Suspended) and event.call is not None and event.call.seq is None


def _shown(arguments: JsonValue) -> str:
    text = canonical_json(arguments)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
