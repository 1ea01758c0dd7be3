"""What can happen in a run: the events, and the envelope each is stored in.

Kinds and field names are those of the published clients, so that they can read these
logs. Fields that default to ``None`` are left out of the JSON when unset, except
``idempotency_key``, which is always written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from salvor.errors import Extent
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
from salvor.values import JsonObject, JsonValue

EffectName = Literal["read", "idempotent", "write"]
OutcomeName = Literal["error", "suspend", "sleep", "not_executed"]
BudgetKind = Literal["steps", "tokens", "cost_usd", "wall_time"]

ERROR_SENTINEL = "__salvor_error"
SUSPEND_SENTINEL = "__salvor_suspend"
SLEEP_SENTINEL = "__salvor_sleep"


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
    """The head of a run; ``caller`` is who asked for it, ``driven_by`` a client's own loop."""

    kind: ClassVar[str] = "RunStarted"
    agent_def_hash: str
    input: JsonValue
    labels: dict[str, str] | None = None
    driven_by: Literal["client"] | None = None
    caller: str | None = None
    workflow: WorkflowRef | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallRequested:
    """The intent of a model call; ``request_hash`` covers the whole request."""

    kind: ClassVar[str] = "ModelCallRequested"
    seq: int
    request_hash: str
    request_body: JsonValue = None
    performed_by: Literal["client"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallCompleted:
    """A model's response."""

    kind: ClassVar[str] = "ModelCallCompleted"
    seq: int
    response: JsonValue
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequested:
    """The intent of a call, recorded before its effect.

    ``seq`` is the event's own position; ``given`` the content hash of the arguments as the
    caller passed them, before repair; ``tool_digest`` identifies the tool's definition;
    ``call_id`` is a foreign loop's own name for the call (DURABILITY C7). ``limit`` is its time
    limit in seconds, if it has one: until then, its worker may still be at it (F2).
    """

    kind: ClassVar[str] = "ToolCallRequested"
    seq: int
    tool: str
    input: JsonValue
    effect: EffectName
    idempotency_key: str | None
    performed_by: Literal["server", "client"] | None = None
    tool_digest: str | None = None
    given: str | None = None
    call_id: str | None = None
    limit: float | None = None


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
    tool's own output cannot pose as a failure. ``tool_digest`` is set where the tool that
    was executed is another than the intent's, and an operator accepted that (B5).
    """

    kind: ClassVar[str] = "ToolCallCompleted"
    seq: int
    output: JsonValue
    deduplicated_from: Origin | None = None
    settled_by: str | None = None
    settled_caller: str | None = None
    outcome: OutcomeName | None = None
    extent: Extent | None = None
    attempts: tuple[Attempt, ...] | None = None
    tool_digest: str | None = None


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
class ParkedCall:
    """The call a park is about.

    ``seq`` is the position of its intent where a tool parked itself; it is unset where an
    approval is asked, which comes before the intent and is bound to exactly this call (D2).
    """

    tool: str
    effect: EffectName
    input: JsonValue
    idempotency_key: str | None
    tool_digest: str | None = None
    seq: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Default:
    """What answers a park when its deadline passes; a type of its own: ``null`` is an answer."""

    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """The run waits for an answer that fits ``input_schema``.

    With ``signal`` it waits for the named signal instead of a person. After ``deadline``
    (RFC 3339, store's clock) only ``default`` answers it, or ends it where there is none.
    """

    kind: ClassVar[str] = "Suspended"
    reason: str
    input_schema: JsonValue
    signal: bool = False
    name: str | None = None
    call: ParkedCall | None = None
    deadline: str | None = None
    default: Default | None = None

    @property
    def awaited(self) -> str | None:
        """The signal it waits for; one without a name, as other writers have it, by its reason."""
        if not self.signal:
            return None
        return self.reason if self.name is None else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """The answer to the park at position ``answers``.

    ``by`` is who answered, or ``deadline``; ``inbox_id`` the number of the signal it is;
    ``caller`` the name of the token that a server was asked with.
    """

    kind: ClassVar[str] = "Resumed"
    input: JsonValue
    answers: int | None = None
    by: str | None = None
    inbox_id: int | None = None
    caller: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepStarted:
    """The run sleeps until ``wake_at`` (RFC 3339, store's clock); ``call`` as in `Suspended`."""

    kind: ClassVar[str] = "SleepStarted"
    wake_at: str
    call: ParkedCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepCompleted:
    """The instant has passed."""

    kind: ClassVar[str] = "SleepCompleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A limit: US dollars, seconds, or a count."""

    kind: BudgetKind
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExceeded:
    """The run has used up a budget and waits for a larger one."""

    kind: ClassVar[str] = "BudgetExceeded"
    budget: Budget
    observed: float


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnresolvedWrite:
    """The write that was open when its run was abandoned."""

    seq: int
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAbandoned:
    """An operator, or a cancel, ended the run; it may follow an open intent."""

    kind: ClassVar[str] = "RunAbandoned"
    reason: str | None = None
    unresolved_write: UnresolvedWrite | None = None
    caller: str | None = None


Event: TypeAlias = (
    RunStarted
    | GraphRunStarted
    | ModelCallRequested
    | ModelCallCompleted
    | ToolCallRequested
    | ToolCallCompleted
    | NowObserved
    | RandomObserved
    | Suspended
    | Resumed
    | SleepStarted
    | SleepCompleted
    | BudgetExceeded
    | RunCompleted
    | RunFailed
    | RunAbandoned
    | NodeEntered
    | NodeExited
    | NodeSkipped
    | BranchTaken
    | MapFannedOut
    | MapIterationStarted
    | MapIterationJoined
    | FoldIterationStarted
    | FoldIterationJoined
    | FoldConverged
)

HEADS = (RunStarted, GraphRunStarted)
INTENTS = (ModelCallRequested, ToolCallRequested)
COMPLETIONS = (ModelCallCompleted, ToolCallCompleted)
TERMINAL = (RunCompleted, RunFailed, RunAbandoned)


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


def suspend_output(*, reason: str, input_schema: JsonValue, signal: bool) -> JsonObject:
    """The output of a call that parked itself, in the form that published clients recognise."""
    asked: JsonObject = {"reason": reason, "input_schema": input_schema}
    return {SUSPEND_SENTINEL: {**asked, "kind": "signal"} if signal else asked}


def sleep_output(wake_at: str) -> JsonObject:
    """The output of a call that sleeps, in the form that published clients recognise."""
    return {SLEEP_SENTINEL: {"wake_at": wake_at}}
