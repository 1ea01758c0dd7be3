"""Calls of a loop that is not ours, as one run (DURABILITY C7)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from copy import deepcopy
from typing import Any

import anyio

from salvor.errors import (
    ArgumentsRefused,
    ConcurrentUseError,
    JsonRefused,
    ToolFailed,
    UnknownToolError,
    listed,
)
from salvor.events.cursor import Cursor, Dangling, Fresh
from salvor.events.log import read_log
from salvor.events.vocabulary import Envelope, RunCompleted, ToolCallRequested
from salvor.run_errors import CallIdConflict, RunEnded, SessionStopped, WrongState
from salvor.runtime.approval import Answer, call_to_approve
from salvor.runtime.call_errors import check_named
from salvor.runtime.caller import CallOptions
from salvor.runtime.calls import Calls, Pair
from salvor.runtime.host import Host
from salvor.runtime.options import key_for
from salvor.runtime.outcome import Parked, RunResult
from salvor.runtime.parked_value import parked_value
from salvor.runtime.recorder import Recorder
from salvor.runtime.session_log import SessionLog, left_open, rest_of
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.runtime.words import check_words, too_large
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, as_json, content_hash

_CALLING: ContextVar[frozenset[Session]] = ContextVar("salvor_calling", default=frozenset())
"""The sessions in whose calls this code runs."""


class Session:
    """One session: its calls are recorded, and answered from the record when they come again.

    Made by `Runtime.session`; calls wait for one another.
    """

    def __init__(
        self,
        host: Host,
        recorder: Recorder,
        run_id: str,
        log: Sequence[Envelope],
        *,
        accept_changes: bool = False,
    ) -> None:
        self.run_id = run_id
        self._host = host
        self._recorder = recorder
        self._lock = anyio.Lock()
        self._calls = Calls(
            host, recorder, Cursor(run_id, ()), run_id, accept_changes=accept_changes
        )
        self._left = False
        self._read(log)

    def _read(self, log: Sequence[Envelope]) -> None:
        self._log = SessionLog.read(self.run_id, log)
        state = self._log.state
        self._over = state.ended
        self._open = None if self._over else state.open_call
        self._rest: RunResult[Any] | None = None
        if state.park is not None or state.sleep is not None:
            self._rest = rest_of(self.run_id, log, state)
        self._stale = False

    async def call_named(self, name: str, arguments: JsonObject, *, call_id: str) -> Any:
        """Make a call, or give what the same call gave before.

        Args:
            name: The tool.
            arguments: Its arguments as JSON.
            call_id: The loop's own name for the call: the same one is the same call.

        Raises:
            ToolFailed: the call ended in a failure, the same every time; or it is no JSON, and
                nothing was recorded.
            CallIdConflict: the id was used for another tool or other arguments.
            SessionStopped: a call waits for an answer, or its outcome is unknown; its
                ``result`` says what to do. Open the session again after that. Or another run
                has the call's key: make it again later.
            RunEnded: the session was closed, or cancelled.
            WrongState: the block that opened the session is over.
            ConcurrentUseError: a tool that the session calls made the call.
        """
        check_words(call_id=call_id)
        if not call_id or not call_id.strip():
            raise ValueError(f"a call id has to be text that is not blank, got {call_id!r}.")
        self._check_free()
        check_named(name, arguments)
        given = content_hash(arguments)
        arguments = deepcopy(arguments)  # its turn may come later
        async with self._turn():
            if call_id not in self._log.done:
                await self._ready()
            known = self._log.done.get(call_id)
            if known is not None:
                return self._again(name, given, call_id, known)
            if self._over:
                raise RunEnded(self.run_id)
            if self._rest is not None:
                raise self._stopped(self._rest)
            return await self._made(name, arguments, given, call_id)

    async def close(self, output: Any = None) -> None:
        """End the session for good.

        Raises:
            SessionStopped: a call is open, or waits for an answer.
        """
        as_json(output, what="the output of the session")
        if problems := too_large(output):
            raise JsonRefused(f"the output of the session is too large: {listed(problems)}.")
        self._check_free()
        async with self._turn():
            if not self._over:
                await self._ready()
                await self._close(output)

    async def _close(self, output: Any) -> None:
        if not self._over:
            if self._rest is not None:
                raise self._stopped(self._rest)
            if self._open is not None:
                raise self._stopped(left_open(self.run_id, self._open))
            await self._recorder.append(RunCompleted(output=output))
            self._over = True

    async def leave(self) -> None:
        """Refuse new calls, and wait for the one that is being made."""
        self._left = True
        async with self._lock:
            return

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One at a time; after what is no end of a call, only the log knows where it stands."""
        async with self._lock:
            try:
                yield
            except (ToolFailed, SessionStopped, RunEnded, CallIdConflict):
                raise
            except BaseException:
                self._stale = True
                raise

    def _check_free(self) -> None:
        """Refuse other loops, and what would wait for itself."""
        self._host.background.check_home()
        if self in _CALLING.get():
            raise ConcurrentUseError(
                f"a tool that session {self.run_id} calls asked the session for something.",
                hint="What a tool calls belongs into the tool, or into the loop of the session.",
            )

    async def _ready(self) -> None:
        """See that a call can be made: the session is open, and what is known of it is so."""
        if self._left:
            raise WrongState(
                f"session {self.run_id} is not open any more.",
                hint="Make calls in the block that opens it, or open it again.",
            )
        if self._stale:
            # Behind everything that was submitted before, whoever was cancelled over it.
            await self._host.store.confirm(self._recorder.fence)
            log, head = await read_log(self._host.store, self.run_id)
            self._recorder.go_on_from(head, log[-1].event)
            self._read(log)

    def _again(self, name: str, given: str, call_id: str, known: Pair) -> Any:
        intent, completion = known
        self._same(intent, name, given, call_id)
        tool = self._host.registry.get(name) if name in self._host.registry else None
        if completion.outcome not in ("suspend", "sleep") or tool is None:
            return self._calls.value(tool, intent, completion)
        over = self._log.park_of(intent)
        if over is None:
            raise self._stopped(self._rest or Parked(run_id=self.run_id, reason="it is parked"))
        return parked_value(tool, over, self.run_id)

    def _same(self, intent: ToolCallRequested, name: str, given: str, call_id: str) -> None:
        if (intent.tool, intent.given) != (name, given):
            raise CallIdConflict(run_id=self.run_id, call_id=call_id, tool=intent.tool)

    async def _made(self, name: str, arguments: JsonObject, given: str, call_id: str) -> Any:
        options = CallOptions(call_id=call_id)
        token = _CALLING.set(_CALLING.get() | {self})
        try:
            if self._open is not None:
                return await self._reopened(self._open, name, given, options)
            return await self._fresh(name, arguments, given, options)
        except Halt as halt:
            if isinstance(halt.stop, Rest):
                raise self._rested(halt.stop.result) from None
            if isinstance(halt.stop, Broken):
                raise halt.stop.error from None
            raise
        finally:
            _CALLING.reset(token)

    async def _fresh(
        self, name: str, arguments: JsonObject, given: str, options: CallOptions
    ) -> Any:
        assert options.call_id is not None
        first = self._log.begun.get(options.call_id)
        if first is not None:
            self._same(first, name, given, options.call_id)
        try:
            tool = self._host.registry.get(name)
        except UnknownToolError:
            if first is not None or any(one.call.tool == name for one in self._log.answers):
                raise  # begun while there was such a tool
            return self._ended(*await self._calls.ended_named(name, arguments, options))
        answer = self._answer(tool, arguments, options)
        pair = await self._calls.unended(tool, arguments, Fresh(first=first), options, answer)
        return self._ended(tool, pair)

    def _answer(
        self, tool: FunctionTool, arguments: JsonObject, options: CallOptions
    ) -> Answer | None:
        """The approval of exactly this call, which it uses up."""
        if not self._log.answers:
            return None
        try:
            prepared = tool.prepare(arguments).arguments
            exact = call_to_approve(tool, prepared, key_for(tool, prepared, options))
        except (ArgumentsRefused, JsonRefused):
            return None
        answer = next((one for one in self._log.answers if one.covers(exact)), None)
        if answer is not None:
            self._log.answers.remove(answer)
        return answer

    async def _reopened(
        self, intent: ToolCallRequested, name: str, given: str, options: CallOptions
    ) -> Any:
        """Go on with the call that a crash left open, when its id comes again."""
        call_id = options.call_id
        if intent.effect == "write" or call_id is None or intent.call_id != call_id:
            raise self._stopped(left_open(self.run_id, intent))
        self._same(intent, name, given, call_id)
        tool = self._host.registry.get(name)
        pair = await self._calls.unended(tool, {}, Dangling(intent=intent), options)
        self._open = None
        return self._ended(tool, pair)

    def _ended(self, tool: FunctionTool | None, pair: Pair) -> Any:
        self._log.ended(*pair)
        return self._calls.value(tool, *pair)

    def _rested(self, result: RunResult[Any]) -> SessionStopped:
        """Keep where the session rests; a call that waits for its key alone may come again."""
        if isinstance(result, Parked) and result.park_seq is None:
            self._stale = True  # no event says so, and an approval may be unused
        else:
            self._rest = result
        return self._stopped(result)

    def _stopped(self, result: RunResult[Any]) -> SessionStopped:
        return SessionStopped(run_id=self.run_id, result=result)
