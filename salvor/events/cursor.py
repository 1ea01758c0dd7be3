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

from salvor.events.vocabulary import (
    TERMINAL,
    Envelope,
    Event,
    NowObserved,
    RandomObserved,
    Resumed,
    RunCompleted,
    RunFailed,
    RunStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.store_errors import Divergence, MalformedLog
from salvor.values import JsonValue, canonical_json, content_hash, same_json

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A call that was completed: its intent and how it ended."""

    intent: ToolCallRequested
    completion: ToolCallCompleted


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
    """A park that was answered."""

    input: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A park that is the log's last event."""

    seq: int


CallStep: TypeAlias = Recorded | Dangling | Fresh


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

    def call(self, tool: str, given: JsonValue) -> CallStep:
        """The recorded call; the tool's name and the arguments as passed are compared."""
        first: ToolCallRequested | None = None
        while True:
            position = self._position
            intent = self._take(ToolCallRequested, f"a call of {tool}")
            if intent is None:
                return Fresh(first=first)
            self._compare_call(position, intent, tool, given)
            if self.live:
                return Dangling(intent=intent)
            completion = self._take(ToolCallCompleted, f"the completion of {tool}")
            assert completion is not None
            if completion.outcome != "not_executed":
                return Recorded(intent=intent, completion=completion)
            first = first or intent

    def suspend(self, reason: str, schema: JsonValue) -> Answered | Waiting | None:
        """The recorded park and its answer; reason and schema are compared."""
        position = self._position
        event = self._take(Suspended, f"a park for {reason!r}")
        if event is None:
            return None
        if event.reason != reason:
            raise self._diverges(position, "reason", repr(event.reason), repr(reason))
        self._same(position, "input_schema", event.input_schema, schema)
        answer = self._take(Resumed, "the answer to a park")
        return Waiting(seq=position) if answer is None else Answered(input=answer.input)

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

    def _take(self, kind: type[E], asked: str) -> E | None:
        if self.live:
            return None
        event = self._events[self._position]
        if not isinstance(event, kind):
            raise self._diverges(self._position, "kind", event.kind, asked)
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
            raise self._diverges(
                position, "given", f"{tool} with {_short(intent.input)}", _short(given)
            )

    def _same(self, position: int, field: str, recorded: JsonValue, asked: JsonValue) -> None:
        if not same_json(recorded, asked):
            raise self._diverges(position, field, _short(recorded), _short(asked))

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
        if isinstance(event, RunStarted) != (seq == 0):
            return "a log begins with RunStarted and has no other"
        before = self._events[seq - 1] if seq else None
        if isinstance(before, TERMINAL):
            return "it stands after the end of the run"
        if isinstance(before, ToolCallRequested) != isinstance(event, ToolCallCompleted):
            return "an intent and its completion do not stand together"
        if isinstance(event, ToolCallCompleted) and event.seq != seq - 1:
            return f"it completes event {event.seq}, which is not the one before it"
        if isinstance(event, ToolCallRequested) and event.seq != seq:
            return f"the intent names position {event.seq} instead of its own"
        return None


def _short(value: JsonValue) -> str:
    text = canonical_json(value)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"
