"""What can be wrong with runs; the rest of the tree is in `salvor.errors`.

SalvorError
    RunError
        UnknownRun, RunExists, AnswerRefused, OutputMisfit, AnswerConflict, LeaseHeld,
        NotDoneRefused, Proved, RunInterrupted, RunStuck, WakeFailed, Unconfirmed, SignalConflict,
        SignalRefused, ToolChanged, KeyedConflict, CallIdConflict, SessionStopped,
        UnknownClaim, ClaimRefused, CopyRefused, NoQuestion
        WrongState             the verb does not fit where the run stands
            RunEnded, NotYet, DeadlinePassed
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from salvor.errors import Extent, Problem, SalvorError, listed


class Late(Protocol):
    """What an error says of a result that came too late."""

    @property
    def outcome(self) -> str: ...

    @property
    def value(self) -> str: ...

    @property
    def kept_at(self) -> datetime: ...


class Claimed(Protocol):
    """What an error says of a claim."""

    @property
    def state(self) -> str: ...

    @property
    def extent(self) -> Extent | None: ...


class RunError(SalvorError):
    """A verb cannot be carried out on a run."""

    code = "run"


class UnknownRun(RunError):
    """No run of that id is in the store."""

    code = "unknown_run"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"there is no run {run_id} in this store.",
            hint="`salvor list` shows the runs it holds.",
        )
        self.run_id = run_id


class RunExists(RunError):
    """A run of that id was started before."""

    code = "run_exists"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} was started before.", hint=f"`salvor resume {run_id}` goes on with it."
        )
        self.run_id = run_id


class WrongState(RunError):
    """The run is not in a state in which the verb makes sense."""

    code = "wrong_state"


class AnswerRefused(RunError):
    """An answer does not fit the schema of the question; nothing was recorded."""

    code = "answer_refused"

    def __init__(self, *, run_id: str, problems: Sequence[Problem]) -> None:
        super().__init__(
            f"the answer does not fit what run {run_id} asked for: {listed(problems)}.",
            hint="The run is still waiting; nothing was recorded.",
        )
        self.run_id = run_id
        self.problems = tuple(problems)


class OutputMisfit(RunError):
    """An output that an operator found does not fit what the tool gives; nothing was recorded."""

    code = "output_misfit"

    def __init__(self, *, run_id: str, tool: str, problems: Sequence[Problem]) -> None:
        super().__init__(
            f"the output does not fit what {tool} gives: {listed(problems)}.",
            hint=f"Nothing was recorded, neither in run {run_id} nor of its key.",
        )
        self.run_id = run_id
        self.tool = tool
        self.problems = tuple(problems)


class AnswerConflict(RunError):
    """The park was answered by somebody else first (DURABILITY D1)."""

    code = "answer_conflict"

    def __init__(self, *, run_id: str, park_seq: int) -> None:
        super().__init__(
            f"the question at event {park_seq} of run {run_id} has been answered already.",
            hint=f"`salvor history {run_id}` shows the answer.",
        )
        self.run_id = run_id
        self.park_seq = park_seq


class LeaseHeld(RunError):
    """Another driver holds the run's lease."""

    code = "lease_held"

    def __init__(self, *, run_id: str, pid: int, host: str, expires_at: str) -> None:
        super().__init__(
            f"run {run_id} is being driven by process {pid} on {host}, "
            f"whose lease ends at {expires_at}.",
            hint="Wait for it, or end that process and try again.",
        )
        self.run_id = run_id
        self.pid = pid
        self.host = host
        self.expires_at = expires_at


class NotDoneRefused(RunError):
    """The word "never happened" while the worker may still act (DURABILITY F2)."""

    code = "worker_may_live"


class Proved(RunError):
    """The word that nothing happened is refused: a result that came too late shows otherwise."""

    code = "proved"

    def __init__(self, *, tool: str, late: Late) -> None:
        returned = late.outcome == "output"
        super().__init__(
            f"{tool} did something after all: at {late.kept_at:%Y-%m-%d %H:%M:%SZ} its body came "
            f"to {late.value if returned else 'this: ' + late.value}.",
            hint="Say so: with that output, or as a failure that happened.",
        )
        self.late = late


class RunInterrupted(RunError):
    """The drive was asked to stop; the log is whole and ``resume`` goes on."""

    code = "interrupted"


class WakeFailed(RunError):
    """A sweeper could not let a run go on, because of something nobody had thought of."""

    code = "wake_failed"

    def __init__(self, *, run_id: str, cause: str) -> None:
        super().__init__(
            f"run {run_id} could not go on: {cause}.",
            hint=f"`salvor resume {run_id}` shows where it fails.",
        )
        self.run_id = run_id


class RunEnded(WrongState):
    """The run has ended: nothing can be sent to it any more."""

    code = "run_ended"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} has ended; nothing was recorded.")
        self.run_id = run_id


class NotYet(WrongState):
    """The instant has not come yet, by the store's clock."""

    code = "not_yet"

    def __init__(self, *, run_id: str, until: str) -> None:
        super().__init__(f"run {run_id} waits until {until}; nothing was recorded.")
        self.run_id = run_id
        self.until = until


class DeadlinePassed(WrongState):
    """The park's deadline has passed, by the store's clock: only its default answers it."""

    code = "deadline_passed"

    def __init__(self, *, run_id: str, deadline: str) -> None:
        super().__init__(
            f"run {run_id} could be answered until {deadline}; nothing was recorded.",
            hint=f"`salvor wake {run_id}` lets it go on with what was to happen then.",
        )
        self.run_id = run_id
        self.deadline = deadline


class SignalConflict(RunError):
    """The same sender's id came before with another signal."""

    code = "signal_conflict"

    def __init__(self, *, run_id: str, sender_id: str) -> None:
        super().__init__(
            f"run {run_id} has another signal with the sender's id {sender_id!r}.",
            hint="Give each signal an id of its own; the same id says that it is the same signal.",
        )
        self.run_id = run_id
        self.sender_id = sender_id


class SignalRefused(RunError):
    """A signal came whose payload is not what the workflow asks for; it is used up."""

    code = "signal_refused"

    def __init__(self, *, run_id: str, name: str, problems: Sequence[Problem]) -> None:
        super().__init__(
            f"a signal {name!r} of run {run_id} does not fit what the workflow asks for: "
            f"{listed(problems)}.",
            hint="Send another one; the workflow may catch this and wait again.",
        )
        self.run_id = run_id
        self.name = name
        self.problems = tuple(problems)


class ToolChanged(RunError):
    """An open call would be made again by a tool that is not the one it was asked of (B5)."""

    code = "tool_changed"

    def __init__(
        self,
        *,
        run_id: str,
        seq: int,
        tool: str,
        recorded: str,
        found: str,
        differs: Sequence[str],
        in_session: bool = False,
    ) -> None:
        way = f"`salvor resume {run_id} --accept-changes`"
        if in_session:
            way = "open the session with accept_changes=True"
        shown = "; ".join(differs) or "its schemas, its effect or its key declaration differ"
        super().__init__(
            f"the call at event {seq} of run {run_id} is open, and {tool} was changed since it was "
            f"made: {shown} (digest {recorded[:19]} then, {found[:19]} now).",
            hint=f"Bring the old tool back, or {way}.",
        )
        self.run_id = run_id
        self.seq = seq
        self.tool = tool
        self.recorded = recorded
        self.found = found
        self.differs = tuple(differs)


class KeyedConflict(RunError):
    """A name was used for another run than the one that is asked for."""

    code = "keyed_conflict"

    def __init__(self, *, name: str, run_id: str, what: str) -> None:
        super().__init__(
            f"{name!r} names run {run_id}, which was started with {what}; nothing was executed.",
            hint="Use another name for another run.",
        )
        self.name = name
        self.run_id = run_id


class CallIdConflict(RunError):
    """A foreign loop used one id for two calls (DURABILITY C7)."""

    code = "call_id_conflict"

    def __init__(self, *, run_id: str, call_id: str, tool: str) -> None:
        super().__init__(
            f"the call {call_id!r} of run {run_id} was a call of {tool} with other arguments; "
            "nothing was executed.",
            hint="Give each call an id of its own.",
        )
        self.run_id = run_id
        self.call_id = call_id


class SessionStopped(RunError):
    """A session cannot go on by itself; ``result`` is where it rests, and why."""

    code = "session_stopped"

    def __init__(self, *, run_id: str, result: object) -> None:
        reason = getattr(result, "reason", None) or getattr(result, "cause", "")
        super().__init__(f"session {run_id} rests: {reason}.")
        self.run_id = run_id
        self.result = result


class UnknownClaim(RunError):
    """Nobody ever claimed that key."""

    code = "unknown_claim"

    def __init__(self, *, scope: str, key: str) -> None:
        super().__init__(
            f"there is no claim on {key} of {scope}.", hint="`salvor claims list` shows them."
        )
        self.scope = scope
        self.key = key


class ClaimRefused(RunError):
    """An operator's word does not fit what a claim is."""

    code = "claim_refused"

    def __init__(self, claim: Claimed, verb: str, why: str) -> None:
        extent = f" (it may have done: {claim.extent})" if claim.extent else ""
        super().__init__(
            f"the claim is {claim.state}{extent} and cannot be {verb}: {why}.",
            hint="Nothing was recorded.",
        )
        self.state = claim.state


class CopyRefused(RunError):
    """Lines that should be an exported run are none."""

    code = "copy_refused"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the lines are no exported run: {why}; nothing was written.",
            hint="`salvor store export RUN` writes one.",
        )


class NoQuestion(RunError):
    """A tool has no question of its own to the outside world (F3)."""

    code = "no_question"

    def __init__(self, *, tool: str) -> None:
        super().__init__(
            f"{tool} has no verify, so nobody but a person can find out whether it happened.",
            hint="Find out, and say so with `salvor resolve`.",
        )
        self.tool = tool


class RunStuck(RunError):
    """The run was taken over again and again without getting a step further (C4)."""

    code = "run_stuck"

    def __init__(self, *, run_id: str, takeovers: int, causes: Sequence[str]) -> None:
        last = f" Last: {causes[-1]}." if causes else ""
        super().__init__(
            f"run {run_id} was taken over {takeovers} times without a new event.{last}",
            hint=f"`salvor resume {run_id}` tries again.",
        )
        self.run_id = run_id
        self.takeovers = takeovers
        self.causes = tuple(causes)


class Unconfirmed(RunError):
    """The store was restored from a backup: keys may have been used that it forgot (G6)."""

    code = "restore_unconfirmed"

    def __init__(self) -> None:
        super().__init__(
            "the store was restored from a backup, so calls with keys may have been made "
            "that it does not know of; nothing was executed.",
            hint="Look what happened since the backup, then say `salvor store confirm`.",
        )
