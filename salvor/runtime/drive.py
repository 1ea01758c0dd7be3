"""Driving a run until it rests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from salvor.errors import OutputRefused, RunStopped, ToolFailed, WorkflowFailed
from salvor.events.cursor import Cursor
from salvor.events.fold import fold
from salvor.events.log import read_log
from salvor.events.vocabulary import RunCompleted, RunFailed
from salvor.runtime.attempts import open_write
from salvor.runtime.cancellation import cancellations, stop_if_cancelled
from salvor.runtime.causes import causes, kept
from salvor.runtime.host import Host
from salvor.runtime.outcome import Completed, Failed, RunResult
from salvor.runtime.recorder import Recorder
from salvor.runtime.run import Run
from salvor.runtime.stops import Broken, CutOff, Rest
from salvor.runtime.workflow import Definition

CANCELLED = "the call was cancelled before its outcome was recorded"


class Drive:
    """One process's way through one run, from its log's beginning to where it rests."""

    def __init__(
        self,
        host: Host,
        recorder: Recorder,
        cursor: Cursor,
        definition: Definition,
        run_id: str,
        *,
        accept_changes: bool = False,
    ) -> None:
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._definition = definition
        self._run_id = run_id
        self.run = Run(run_id, host, recorder, cursor, accept_changes=accept_changes)

    async def to_rest(self, body: Callable[[Run], Awaitable[Any]]) -> RunResult[Any]:
        """Let the workflow run; what the run says decides, not what the function did.

        Raises:
            LogError, StoreError, RunInterrupted: the drive cannot go on.
            BaseException: the drive itself was cancelled.
        """
        run = self.run
        before = cancellations()
        output, raised = None, None
        try:
            output = await body(run)
        except BaseException as error:
            if not _is_ours(error):
                run.close()
                raise
            raised = error
        await run.quiet()
        if run.stop is not None:
            return await self._stopped(run, raised)
        run.close()
        # A drive that was cancelled has no end to record, whatever the workflow made of it.
        await stop_if_cancelled(before)
        if raised is not None:
            return await self._raised(raised)
        return await self._returned(output)

    async def _stopped(self, run: Run, raised: BaseException | None) -> RunResult[Any]:
        stop = run.stop
        if isinstance(stop, Rest):
            return stop.result
        if isinstance(stop, Broken):
            raise stop.error
        assert isinstance(stop, CutOff)
        envelopes, _ = await read_log(self._host.store, self._run_id)
        state = fold(envelopes)
        if state.status == "needs-reconciliation" and state.open_call is not None:
            return open_write(self._run_id, state.open_call, CANCELLED)
        return self._bug(raised or RuntimeError("a step was cancelled inside the workflow"))

    async def _raised(self, error: BaseException) -> RunResult[Any]:
        answer = final_failure(error)
        if answer is None:
            return self._bug(error)
        if not self._cursor.fail(answer):
            await self._recorder.append(RunFailed(error=answer))
        return Failed(run_id=self._run_id, error=answer, final=True)

    async def _returned(self, output: Any) -> RunResult[Any]:
        try:
            recorded = self._definition.encode(output)
        except OutputRefused as error:
            return self._bug(error)
        if not self._cursor.complete(recorded):
            await self._recorder.append(RunCompleted(output=recorded))
        return Completed(
            run_id=self._run_id, output=self._definition.decode(recorded), recorded=recorded
        )

    def _bug(self, error: BaseException) -> Failed:
        return Failed(run_id=self._run_id, error=causes(error), final=False, exception=error)


def _is_ours(error: BaseException) -> bool:
    """Whether the drive goes on after this: an error, or a stop however it is wrapped."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_ours(inner) for inner in error.exceptions)
    return isinstance(error, Exception | RunStopped)


def final_failure(error: BaseException) -> str | None:
    """The text of a failure that ends the run, ``None`` for a fault of the code (C5).

    A task group wraps what its tasks raise; the failures inside count, if nothing else is.
    """
    if isinstance(error, BaseExceptionGroup):
        texts = [final_failure(inner) for inner in error.exceptions]
        return None if None in texts else "; ".join(map(str, texts))
    if isinstance(error, ToolFailed | WorkflowFailed):
        return kept(error.message)
    return None
