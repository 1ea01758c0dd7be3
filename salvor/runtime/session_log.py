"""What the log of a session says: its calls by their ids, its approvals, where it rests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from salvor.events.cursor import Answered
from salvor.events.fold import RunState, fold
from salvor.events.vocabulary import (
    Envelope,
    Event,
    Resumed,
    RunStarted,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.runtime.approval import Answer
from salvor.runtime.attempts import open_write
from salvor.runtime.calls import CRASHED, Pair
from salvor.runtime.outcome import OpenWrite, Parked, parked_at
from salvor.values import content_hash, same_json

SESSION_HASH = content_hash("session")
"""The identity in the head of a session's log."""

IDLE = "it is a session: its own loop goes on with it, and nobody else can"


def is_session(log: Sequence[Envelope]) -> bool:
    """Whether a log is that of a session."""
    return session_name(log[0] if log else None) is not None


def session_name(first: object) -> str | None:
    """The name of a session, by the first envelope of its log; ``None`` if it is none."""
    head = first.event if isinstance(first, Envelope) else None
    if not isinstance(head, RunStarted) or head.agent_def_hash != SESSION_HASH:
        return None
    name = head.input.get("session") if isinstance(head.input, dict) else None
    return name if isinstance(name, str) else ""


def rest_of(run_id: str, log: Sequence[Envelope], state: RunState) -> Parked | OpenWrite:
    """Where a session that has not ended rests while its loop is away."""
    rest = state.park or state.sleep
    if rest is not None:
        park = log[rest.seq].event
        assert isinstance(park, Suspended | SleepStarted)
        return parked_at(run_id, rest.seq, park)
    if state.open_call is not None:
        return left_open(run_id, state.open_call)
    return Parked(run_id=run_id, reason=IDLE)


def left_open(run_id: str, intent: ToolCallRequested) -> Parked | OpenWrite:
    """What is to be done about a call that was left open."""
    if intent.effect == "write":
        return open_write(run_id, intent, CRASHED)
    reason = f"the call {intent.call_id!r} of {intent.tool} is open: make it again, by its id"
    return Parked(run_id=run_id, reason=reason)


@dataclass(slots=True)
class SessionLog:
    """A session's calls, as far as they are recorded.

    ``done`` are those that ended, by their ids; ``begun`` the first intents of those that did
    not happen, and may be made anew; ``answers`` the approvals that no call has used up.
    """

    run_id: str
    state: RunState
    events: list[Event]
    done: dict[str, Pair] = field(default_factory=dict)
    begun: dict[str, ToolCallRequested] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)

    @classmethod
    def read(cls, run_id: str, log: Sequence[Envelope]) -> SessionLog:
        """What is in a log."""
        found = cls(run_id, fold(log), [envelope.event for envelope in log])
        for seq, event in enumerate(found.events):
            before = found.events[seq - 1] if seq else None
            if isinstance(event, ToolCallCompleted):
                assert isinstance(before, ToolCallRequested)
                found.ended(before, event)
            elif isinstance(event, ToolCallRequested):
                found._used(event)
            elif isinstance(event, Resumed) and isinstance(before, Suspended):
                found._answered(seq - 1, before, event)
        return found

    def ended(self, intent: ToolCallRequested, completion: ToolCallCompleted) -> None:
        """Keep how a call ended."""
        call_id = intent.call_id
        if call_id is None:
            return
        if completion.outcome == "not_executed":
            self.begun.setdefault(call_id, intent)
        else:
            self.done[call_id] = (intent, completion)

    def park_of(self, intent: ToolCallRequested) -> Answered | None:
        """What ended the park that a call's tool asked for, right after its completion."""
        park, over = self._at(intent.seq + 2), self._at(intent.seq + 3)
        if isinstance(park, Suspended) and isinstance(over, Resumed):
            return Answered(seq=intent.seq + 2, park=park, input=over.input)
        if isinstance(park, SleepStarted) and isinstance(over, SleepCompleted):
            return Answered(seq=intent.seq + 2, park=park, input=None)
        return None

    def _at(self, seq: int) -> Event | None:
        return self.events[seq] if seq < len(self.events) else None

    def _answered(self, seq: int, park: Suspended, over: Resumed) -> None:
        if park.call is not None and park.call.seq is None:
            self.answers.append(Answer.of(Answered(seq=seq, park=park, input=over.input)))

    def _used(self, intent: ToolCallRequested) -> None:
        """An approval is used up by one intent of its call (D2), not by those in between."""
        for answer in self.answers:
            call = answer.call
            same = (call.tool, call.tool_digest) == (intent.tool, intent.tool_digest)
            if same and same_json(call.input, intent.input):
                self.answers.remove(answer)
                return
