"""What can happen in a run: the events, and the envelope each is stored in.

Kinds and field names are those of the published clients, so that they can read these
logs. Fields that default to ``None`` are left out of the JSON when unset, except
``idempotency_key``, which is always written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from salvor.errors import Extent
from salvor.values import JsonObject, JsonValue

EffectName = Literal["read", "idempotent", "write"]
OutcomeName = Literal["error", "suspend", "sleep", "not_executed"]

ERROR_SENTINEL = "__salvor_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRef:
    """Which workflow drives a run, and where it was found.

    ``target`` is ``MODULE:NAME`` or an absolute ``file.py:NAME``.
    """

    name: str
    version: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The head of a run."""

    kind: ClassVar[str] = "RunStarted"
    agent_def_hash: str
    input: JsonValue
    labels: dict[str, str] | None = None
    workflow: WorkflowRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested:
    """The intent of a call, recorded before its effect.

    ``seq`` is the event's own position; ``given`` the content hash of the arguments as the
    caller passed them, before repair; ``tool_digest`` identifies the tool's definition.
    """

    kind: ClassVar[str] = "ToolCallRequested"
    seq: int
    tool: str
    input: JsonValue
    effect: EffectName
    idempotency_key: str | None
    tool_digest: str | None = None
    given: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One failed execution: when it started (RFC 3339), why it failed, what it may have done."""

    started: str
    cause: str
    extent: Extent


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The intent whose recorded output was copied."""

    run_id: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallCompleted:
    """How a call ended.

    ``seq`` is the intent's; ``outcome`` is unset for a real output. A failure's ``output``
    is the object that published clients recognise, but only ``outcome`` makes it one: a
    tool's own output cannot pose as a failure.
    """

    kind: ClassVar[str] = "ToolCallCompleted"
    seq: int
    output: JsonValue
    deduplicated_from: Origin | None = None
    settled_by: str | None = None
    outcome: OutcomeName | None = None
    extent: Extent | None = None
    attempts: tuple[Attempt, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NowObserved:
    """A clock reading (RFC 3339, UTC, microseconds)."""

    kind: ClassVar[str] = "NowObserved"
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomObserved:
    """64 random bits as an integer in ``[0, 2**64)``."""

    kind: ClassVar[str] = "RandomObserved"
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The run waits for an answer that fits ``input_schema``."""

    kind: ClassVar[str] = "Suspended"
    reason: str
    input_schema: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The answer to the park at position ``answers``."""

    kind: ClassVar[str] = "Resumed"
    input: JsonValue
    answers: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted:
    """The run returned."""

    kind: ClassVar[str] = "RunCompleted"
    output: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed:
    """The run ended in a final failure."""

    kind: ClassVar[str] = "RunFailed"
    error: str


Event: TypeAlias = (
    RunStarted
    | ToolCallRequested
    | ToolCallCompleted
    | NowObserved
    | RandomObserved
    | Suspended
    | Resumed
    | RunCompleted
    | RunFailed
)

TERMINAL = (RunCompleted, RunFailed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One event at its place in its run's log; ``recorded_at`` is never used by replay."""

    run_id: str
    seq: int
    recorded_at: str
    event: Event
    schema_version: int = 1


def failure_output(*, kind: str, message: str, attempts: int) -> JsonObject:
    """The output of a failed call, in the form that published clients recognise."""
    return {
        ERROR_SENTINEL: {
            "is_error": True,
            "kind": kind,
            "message": message,
            "attempts": attempts,
        }
    }
