"""Asking a person before a call is made, and what the answer allows (DURABILITY D2)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from salvor.events.cursor import Answered
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

    @classmethod
    def of(cls, answered: Answered) -> Answer:
        """The answer to an approval that was asked."""
        park = answered.park
        assert isinstance(park, Suspended)
        assert park.call is not None
        return cls(park.call, answered.input)

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

    def park(self, asked: Asked, call: ParkedCall) -> tuple[Suspended, datetime | None]:
        """The park that asks, and until when it can be answered; after that it is a no."""
        at = None
        if asked.deadline is not None:
            at = self._host.clock.now() + timedelta(seconds=asked.deadline)
        park = Suspended(
            reason=f"Approve {call.tool}{_shown(call.input)} [{call.effect}]?",
            input_schema=SCHEMA,
            call=call,
            deadline=None if at is None else format_instant(at),
            default=None if at is None else Default(value=NO),
        )
        return park, at


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


def _shown(arguments: JsonValue) -> str:
    text = canonical_json(arguments)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
