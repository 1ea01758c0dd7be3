"""The replay cursor: answers a workflow's steps from the record until the record ends.

Every step either returns what was recorded at the current position or says that history
is exhausted and the step has to be made live. What is asked for is compared with what was
recorded by canonical bytes; a difference is a `Divergence` that shows both sides. The
recorded value wins wherever it is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from salvor.events.described import described
from salvor.events.difference import difference, shown
from salvor.events.encoding import ENCODERS
from salvor.events.guard import misplaced
from salvor.events.vocabulary import (
    TERMINAL,
    BudgetExceeded,
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    RandomObserved,
    Resumed,
    RunCompleted,
    RunFailed,
    RunStarted,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.store_errors import Divergence, MalformedLog
from salvor.values import JsonValue, content_hash

E = TypeVar("E", bound=Event)
P = TypeVar("P", Suspended, SleepStarted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call that was completed: its intent and how it ended."""

    intent: ToolCallRequested
    completion: ToolCallCompleted


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedModel:
    """A model call that was completed."""

    intent: ModelCallRequested
    completion: ModelCallCompleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Dangling:
    """A call whose intent is the log's last event: nobody knows what it did."""

    intent: ToolCallRequested


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """A call that has to be made live.

    ``first`` is the first intent of the same call when earlier ones were recorded as not
    executed: the fresh intent keeps its idempotency key (DURABILITY B3).
    """

    first: ToolCallRequested | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A park that is over; ``input`` is the answer, ``None`` after a sleep."""

    seq: int
    park: Suspended | SleepStarted
    input: JsonValue
    by: str | None = None
    inbox_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A park that is the log's last event."""

    seq: int
    park: Suspended | SleepStarted


CallStep: TypeAlias = Recorded | Dangling | Fresh
ParkStep: TypeAlias = Answered | Waiting


class Cursor:
    """Walks one log; the log is checked to be one when the cursor is made.

    Raises:
        MalformedLog: the events are not contiguous, of one run, begun by one `RunStarted`,
            with every intent followed by its completion and nothing after the end.
    """

    def __init__(self, run_id: str, envelopes: Sequence[Envelope]) -> None:
        self._run_id = run_id
        self._events = [envelope.event for envelope in envelopes]
        self._position = 0
        for seq, envelope in enumerate(envelopes):
            detail = self._flaw(seq, envelope)
            if detail is not None:
                raise MalformedLog(run_id=run_id, seq=seq, detail=detail)

    @property
    def position(self) -> int:
        """The position of the next step."""
        return self._position

    @property
    def live(self) -> bool:
        """Whether the record is exhausted."""
        return self._position >= len(self._events)

    def begin(self, agent_def_hash: str, called: str | None = None) -> RunStarted | None:
        """The head; only the identity hash is compared.

        Args:
            agent_def_hash: The identity of the workflow that is to drive the run.
            called: What to call it in an error, instead of its hash.
        """
        event = self._take(RunStarted, "the start of a run")
        if event is not None and event.agent_def_hash != agent_def_hash:
            ref = event.workflow
            recorded = f"{ref.name} version {ref.version}" if ref else event.agent_def_hash
            raise self._diverges(0, "agent_def_hash", recorded, called or agent_def_hash)
        return event

    def now(self) -> str | None:
        """The recorded clock reading."""
        event = self._take(NowObserved, "a clock reading")
        return None if event is None else event.now

    def random(self) -> int | None:
        """The recorded random bits."""
        event = self._take(RandomObserved, "random bits")
        return None if event is None else event.value

    @property
    def upcoming(self) -> Event | None:
        """The next recorded event."""
        return None if self.live else self._events[self._position]

    def call(self, tool: str, given: JsonValue) -> CallStep:
        """The recorded call; the tool's name and the arguments as passed are compared.

        Intents that were recorded as not executed are passed over, up to an approval that
        was asked anew after them.
        """
        first: ToolCallRequested | None = None
        while not (first and isinstance(self.upcoming, Suspended)):
            position = self._position
            intent = self._take(ToolCallRequested, f"a call of {tool}")
            if intent is None:
                break
            self._compare_call(position, intent, tool, given)
            if self.live:
                return Dangling(intent=intent)
            completion = self._take(ToolCallCompleted, f"the completion of {tool}")
            assert completion is not None
            if completion.outcome != "not_executed":
                return Recorded(intent=intent, completion=completion)
            first = first or intent
        return Fresh(first=first)

    def approval(self, tool: str) -> ParkStep | None:
        """A recorded question for the approval of a call that comes next, and its answer.

        What exactly was asked is not compared here: an answer is bound to its call when the
        call is made (DURABILITY D2).
        """
        event = self.upcoming
        if not isinstance(event, Suspended) or event.call is None or event.call.seq is not None:
            return None
        if event.call.tool != tool:
            raise self._diverges(
                self._position, "tool", f"an approval of {event.call.tool}", f"a call of {tool}"
            )
        return self._park(Suspended, Resumed, "an approval")

    def parked_call(self, intent: ToolCallRequested) -> ParkStep | None:
        """The park that a call's tool asked for, right after its completion."""
        event = self.upcoming
        if isinstance(event, SleepStarted):
            return self._park(SleepStarted, SleepCompleted, f"the sleep of {intent.tool}")
        return self._park(Suspended, Resumed, f"the park of {intent.tool}")

    def suspend(
        self, reason: str, schema: JsonValue, *, signal: str | None = None
    ) -> ParkStep | None:
        """The recorded park and its answer.

        Reason, schema and the signal's name are compared. Deadline and default are the
        record's: they were computed once, perhaps from a clock.
        """
        position = self._position
        event = self.upcoming
        if isinstance(event, Suspended):
            self._compare_park(position, event, reason, schema, signal)
        return self._park(Suspended, Resumed, f"a park for {reason!r}")

    def sleep(self, wake_at: str) -> ParkStep | None:
        """The recorded sleep; the instant is compared."""
        event = self.upcoming
        if isinstance(event, SleepStarted):
            if event.call is not None:
                raise self._diverges(self._position, "call", "the sleep of a tool", "a sleep")
            if event.wake_at != wake_at:
                raise self._diverges(self._position, "wake_at", event.wake_at, wake_at)
        return self._park(SleepStarted, SleepCompleted, f"a sleep until {wake_at}")

    def model_call(self, request_hash: str) -> ModelCallRequested | RecordedModel | None:
        """The recorded model call, or its intent alone; the request's hash is compared."""
        position = self._position
        intent = self._take(ModelCallRequested, "a model call")
        if intent is None:
            return None
        if intent.request_hash != request_hash:
            raise self._diverges(position, "request_hash", intent.request_hash, request_hash)
        completion = self._take(ModelCallCompleted, "the completion of a model call")
        if completion is None:
            return intent
        return RecordedModel(intent=intent, completion=completion)

    def budget(self, exceeded: BudgetExceeded) -> Resumed | BudgetExceeded | None:
        """What let the run go on after that budget, or the recorded event where it still waits.

        Kind, limit and what was observed are compared.
        """
        if not self.marker(exceeded):
            return None
        return self._take(Resumed, "a larger budget") or exceeded

    def marker(self, event: Event) -> bool:
        """Whether this very event is recorded: a graph's marker, or a budget's end.

        Every field is compared, except the child run of a map, which a fork copies.
        """
        position = self._position
        found = self._take(type(event), f"{event.kind}")
        if found is None:
            return False
        recorded, asked = (ENCODERS[type(one)](one) for one in (found, event))
        for one in (recorded, asked):
            one.pop("child_run", None)
        self._same(position, "", recorded, asked)
        return True

    def complete(self, output: JsonValue) -> bool:
        """Whether this very end is recorded; the output is compared."""
        position = self._position
        event = self._take(RunCompleted, "the end of the run")
        if event is not None:
            self._same(position, "output", event.output, output)
        return event is not None

    def fail(self, error: str) -> bool:
        """Whether this very failure is recorded; the text is compared."""
        position = self._position
        event = self._take(RunFailed, f"a failed run ({error})")
        if event is not None and event.error != error:
            raise self._diverges(position, "error", repr(event.error), repr(error))
        return event is not None

    def _park(self, kind: type[P], end: type[Event], asked: str) -> ParkStep | None:
        position = self._position
        event = self._take(kind, asked)
        if event is None:
            return None
        over = self._take(end, f"the end of {asked}")
        if over is None:
            return Waiting(seq=position, park=event)
        if isinstance(over, Resumed):
            return Answered(
                seq=position, park=event, input=over.input, by=over.by, inbox_id=over.inbox_id
            )
        return Answered(seq=position, park=event, input=None)

    def _compare_park(
        self, position: int, event: Suspended, reason: str, schema: JsonValue, signal: str | None
    ) -> None:
        if event.call is not None:
            raise self._diverges(
                position, "call", f"a park for {event.call.tool}", f"a park for {reason!r}"
            )
        recorded = event.awaited
        if recorded != signal:
            raise self._diverges(position, "name", repr(recorded), repr(signal))
        if event.reason != reason:
            raise self._diverges(position, "reason", repr(event.reason), repr(reason))
        self._same(position, "input_schema", event.input_schema, schema)

    def _take(self, kind: type[E], asked: str) -> E | None:
        if self.live:
            last = self._events[-1] if self._events else None
            if isinstance(last, TERMINAL):
                raise self._diverges(len(self._events) - 1, "kind", described(last), asked)
            return None
        event = self._events[self._position]
        if not isinstance(event, kind):
            raise self._diverges(self._position, "kind", described(event), asked)
        self._position += 1
        return event

    def _compare_call(
        self, position: int, intent: ToolCallRequested, tool: str, given: JsonValue
    ) -> None:
        if intent.tool != tool:
            raise self._diverges(position, "tool", intent.tool, tool)
        if intent.given is None:
            self._same(position, "input", intent.input, given)
        elif intent.given != content_hash(given):
            # The record has the arguments as repaired; where they differ is shown by those.
            found = difference(intent.input, given)
            field = f"input{found[0]}" if found else "given"
            recorded, asked = (found[1], found[2]) if found else (shown(intent.input), shown(given))
            raise self._diverges(position, field, f"{tool} with {recorded}", asked)

    def _same(self, position: int, field: str, recorded: JsonValue, asked: JsonValue) -> None:
        found = difference(recorded, asked)
        if found is not None:
            place, left, right = found
            raise self._diverges(position, f"{field}{place}" or "value", left, right)

    def _diverges(self, position: int, field: str, recorded: str, requested: str) -> Divergence:
        return Divergence(
            run_id=self._run_id,
            position=position,
            recorded=recorded,
            requested=requested,
            field=field,
        )

    def _flaw(self, seq: int, envelope: Envelope) -> str | None:
        event = envelope.event
        if envelope.run_id != self._run_id or envelope.seq != seq:
            return f"it says it is event {envelope.seq} of run {envelope.run_id}"
        return misplaced(self._events[seq - 1] if seq else None, event, seq)
