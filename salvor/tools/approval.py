"""Which calls a person has to approve first: the operator's rules (DURABILITY D2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from salvor.errors import JsonRefused
from salvor.tools.check import SchemaCheck
from salvor.tools.contract import EFFECTS, Effect
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, JsonValue

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "description": "Whether the call may be made."},
        "note": {"type": "string", "description": "Why; the caller is told."},
    },
    "required": ["approved"],
    "additionalProperties": False,
}
NO: JsonObject = {"approved": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """Which calls need approval; what is empty holds for all.

    Attributes:
        tools: Patterns of tool names (``pay_*``).
        effects: Effects, as they are in force.
        when: By argument, the JSON Schema it has to fit for the rule to hold. An argument
            that is not there fits: whoever leaves it out does not get past the rule.
        deadline: Seconds to approve; after that it is a no.
        place: Where it is said, for messages.

    Raises:
        JsonRefused: a schema cannot be used.
    """

    tools: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    when: Mapping[str, JsonObject] = field(default_factory=dict)
    deadline: float | None = None
    place: str = ""
    _checks: dict[str, SchemaCheck] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, schema in self.when.items():
            try:
                self._checks[name] = SchemaCheck(schema)
            except JsonRefused as error:
                raise JsonRefused(f"{self.place}when.{name}: {error.message}") from None

    def concerns(self, tool: FunctionTool) -> bool:
        """Whether a call of the tool may need approval by this rule."""
        named = not self.tools or any(fnmatchcase(tool.name, one) for one in self.tools)
        return named and tool.effect in (self.effects or EFFECTS)

    def holds(self, tool: FunctionTool, arguments: JsonObject) -> bool:
        """Whether this very call needs approval by this rule."""
        return self.concerns(tool) and all(
            name not in arguments or check.is_valid(arguments[name])
            for name, check in self._checks.items()
        )


@dataclass(frozen=True, slots=True)
class Asked:
    """An approval is needed; ``deadline`` is in seconds."""

    deadline: float | None = None


def may_ask(tool: FunctionTool, rules: Sequence[ApprovalRule]) -> bool:
    """Whether a call of the tool may need approval, depending on its arguments."""
    return bool(tool.meta.approval) or any(rule.concerns(tool) for rule in rules)


def approval_of(
    tool: FunctionTool, arguments: JsonObject, rules: Sequence[ApprovalRule]
) -> Asked | None:
    """Whether a call needs approval, and how long there is to give it.

    Of several rules that hold, the shortest time counts. A predicate of the tool's author
    that raises counts as a yes: nothing is let through by a fault.
    """
    holding = [rule for rule in rules if rule.holds(tool, arguments)]
    if not holding and not _author_asks(tool, arguments):
        return None
    times = [rule.deadline for rule in holding if rule.deadline is not None]
    return Asked(min(times, default=None))


def is_yes(answer: JsonValue) -> bool:
    """Whether an answer is an explicit yes; anything else is a no."""
    return isinstance(answer, dict) and answer.get("approved") is True


def note_of(answer: JsonValue) -> str | None:
    """What was said with an answer."""
    note = answer.get("note") if isinstance(answer, dict) else None
    return note if isinstance(note, str) else None


def _author_asks(tool: FunctionTool, arguments: JsonObject) -> bool:
    wanted = tool.meta.approval
    if not callable(wanted):
        return wanted
    try:
        return wanted(dict(arguments)) is not False
    except Exception:
        return True
