"""Calls of a loop that is not ours, as one run (DURABILITY C7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from salvor.events.cursor import Answered, Cursor, Dangling, Fresh
from salvor.events.fold import fold
from salvor.events.outputs import output_at
from salvor.events.vocabulary import (
    Envelope,
    Event,
    Resumed,
    RunCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.run_errors import CallIdConflict, RunEnded, SessionStopped
from salvor.runtime.approval import Answer
from salvor.runtime.attempts import open_write
from salvor.runtime.caller import CallOptions
from salvor.runtime.calls import CRASHED, Calls, Pair
from salvor.runtime.host import Host
from salvor.runtime.outcome import Parked, parked_at
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.values import JsonObject, as_json, content_hash

SESSION_HASH = content_hash("session")
"""The identity in the head of a session's log."""


class Session:
    """One session: its calls are recorded, and answered from the record when they come again.

    Made by `Runtime.session`; calls wait for one another.
    """

    def __init__(
        self, host: Host, recorder: Recorder, run_id: str, log: Sequence[Envelope]
    ) -> None:
        self.run_id = run_id
        self._host = host
        self._recorder = recorder
        self._lock = anyio.Lock()
        self._calls = Calls(host, recorder, Cursor(run_id, ()), run_id)
        self._events: dict[int, Event] = {envelope.seq: envelope.event for envelope in log}
        self._state = fold(log)
        self._done: dict[str, Pair] = {}
        self._answer: Answer | None = None
        self._over = self._state.ended
        self._rest: SessionStopped | None = self._resting()
        self._read()

    def _read(self) -> None:
        """What is recorded: calls that ended, by their ids, and an approval that is not used up."""
        for seq, event in self._events.items():
            if isinstance(event, ToolCallCompleted) and event.outcome != "not_executed":
                intent = self._events[seq - 1]
                assert isinstance(intent, ToolCallRequested)
                if intent.call_id is not None:
                    self._done[intent.call_id] = (intent, event)
            if isinstance(event, ToolCallRequested):
                self._answer = None
            park = self._events.get(seq - 1)
            asked = isinstance(park, Suspended) and park.call is not None and park.call.seq is None
            if isinstance(event, Resumed) and asked and isinstance(park, Suspended):
                self._answer = Answer.of(Answered(seq=seq - 1, park=park, input=event.input))

    async def call_named(self, name: str, arguments: JsonObject, *, call_id: str) -> Any:
        """Make a call, or give what the same call gave before.

        Args:
            name: The tool.
            arguments: Its arguments as JSON.
            call_id: The loop's own name for the call: the same one is the same call.

        Raises:
            ToolFailed: the call ended in a failure; the same every time.
            CallIdConflict: the id was used for another tool or other arguments.
            SessionStopped: a call waits for an answer, or its outcome is unknown; its
                ``result`` says what to do. Open the session again after that.
            RunEnded: the session was closed.
        """
        as_json(call_id, what="the call id")
        self._host.background.check_home()
        async with self._lock:
            given = content_hash(arguments)
            known = self._done.get(call_id)
            if known is not None:
                return self._again(name, given, call_id, known)
            if self._over:
                raise RunEnded(self.run_id)
            if self._rest is not None:
                raise self._rest
            return await self._made(name, arguments, given, call_id)

    async def close(self, output: Any = None) -> None:
        """End the session for good.

        Raises:
            SessionStopped: a call is open, or waits for an answer.
        """
        as_json(output, what="the output of the session")
        self._host.background.check_home()
        async with self._lock:
            if self._over:
                return
            if self._rest is not None or self._state.open_call is not None:
                raise self._rest or self._open()
            await self._recorder.append(RunCompleted(output=output))
            self._over = True

    def _again(self, name: str, given: str, call_id: str, known: Pair) -> Any:
        intent, completion = known
        self._same(intent, name, given, call_id)
        tool = self._host.registry.get(name) if name in self._host.registry else None
        if completion.outcome not in ("suspend", "sleep") or tool is None:
            return self._calls.value(tool, intent, completion)
        end = intent.seq + 3  # intent, completion, park, its end
        found = output_at(self._events, end)
        if found is None:
            raise self._rest or SessionStopped(
                run_id=self.run_id, result=Parked(run_id=self.run_id, reason="it is parked")
            )
        return self._calls.decoded(tool, found.value, end)

    def _same(self, intent: ToolCallRequested, name: str, given: str, call_id: str) -> None:
        if (intent.tool, intent.given) != (name, given):
            raise CallIdConflict(run_id=self.run_id, call_id=call_id, tool=intent.tool)

    async def _made(self, name: str, arguments: JsonObject, given: str, call_id: str) -> Any:
        options = CallOptions(call_id=call_id)
        open_call = self._state.open_call
        try:
            if open_call is not None:
                return await self._reopened(open_call, name, given, call_id, options)
            if self._answer is None or name not in self._host.registry:
                return await self._fresh(name, arguments, call_id, options)
            answer, self._answer = self._answer, None
            tool = self._host.registry.get(name)
            pair = await self._calls.unended(tool, arguments, Fresh(), options, answer)
            self._done[call_id] = pair
            return self._calls.value(tool, *pair)
        except Halt as halt:
            if isinstance(halt.stop, Rest):
                self._rest = SessionStopped(run_id=self.run_id, result=halt.stop.result)
                raise self._rest from None
            if isinstance(halt.stop, Broken):
                raise halt.stop.error from None
            raise

    async def _fresh(
        self, name: str, arguments: JsonObject, call_id: str, options: CallOptions
    ) -> Any:
        tool, pair = await self._calls.ended_named(name, arguments, options)
        self._done[call_id] = pair
        return self._calls.value(tool, *pair)

    async def _reopened(
        self, intent: ToolCallRequested, name: str, given: str, call_id: str, options: CallOptions
    ) -> Any:
        """Go on with the call that a crash left open, when its id comes again."""
        if intent.effect == "write" or intent.call_id != call_id:
            raise self._open()
        self._same(intent, name, given, call_id)
        tool = self._host.registry.get(name)
        pair = await self._calls.unended(tool, {}, Dangling(intent=intent), options)
        self._state = fold(())
        self._done[call_id] = pair
        return self._calls.value(tool, *pair)

    def _open(self) -> SessionStopped:
        intent = self._state.open_call
        assert intent is not None
        if intent.effect == "write":
            return SessionStopped(
                run_id=self.run_id, result=open_write(self.run_id, intent, CRASHED)
            )
        reason = f"the call {intent.call_id!r} of {intent.tool} is open: make it again, by its id"
        return SessionStopped(run_id=self.run_id, result=Parked(run_id=self.run_id, reason=reason))

    def _resting(self) -> SessionStopped | None:
        rest = self._state.park or self._state.sleep
        if rest is None:
            return None
        park = self._events[rest.seq]
        assert isinstance(park, Suspended | SleepStarted)
        return SessionStopped(run_id=self.run_id, result=parked_at(self.run_id, rest.seq, park))
