"""Taking runs over and driving them: what start and resume have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from salvor.errors import OutputRefused, Problem, SalvorError, UnknownToolError
from salvor.events.cursor import Cursor
from salvor.events.fold import RunState
from salvor.events.log import read_log
from salvor.events.records import Fence, Head
from salvor.events.vocabulary import RunStarted, ToolCallRequested, WorkflowRef
from salvor.run_errors import (
    AnswerRefused,
    RunExists,
    RunInterrupted,
    Unconfirmed,
    UnknownRun,
    WrongState,
)
from salvor.runtime.causes import causes
from salvor.runtime.drive import Drive
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.outcome import Abandoned, Completed, Failed, Parked, RunResult
from salvor.runtime.recorder import Recorder
from salvor.runtime.session import Session
from salvor.runtime.session_log import SESSION_HASH, is_session
from salvor.runtime.targets import load_module, load_target, split_target
from salvor.runtime.workflow import SINGLE, Definition, define, single_call
from salvor.store_errors import (
    CommitUnknown,
    Divergence,
    StoreBusy,
    StoreError,
    StoreUnavailable,
)
from salvor.tools.decorator import tool_meta
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import JsonObject, JsonValue, as_json, canonical_json, parse_object


@dataclass(slots=True)
class _Taken:
    """A run that is this process's to drive; ``cause`` is why it got no further (C4).

    ``blameless``: it got no further through no fault of its own, and is due at once.
    """

    fence: Fence
    head: Head
    cause: str | None = None
    blameless: bool = False

    def ended(self, result: RunResult[Any]) -> RunResult[Any]:
        """Note what the drive came to."""
        if isinstance(result, Failed) and not result.final:
            self.cause = result.error
        # Parked without a trace in the store: nothing else would make it due.
        self.blameless = (
            isinstance(result, Parked) and result.waiting_for is None and result.park_seq is None
        )
        return result


class Driving:
    """Starts and resumes runs in the calling task."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def start(self, definition: Definition, raw: JsonObject, run_id: str) -> RunResult[Any]:
        """Record a run's head and drive it until it rests."""
        what = f"the input of {definition.name}"
        raw = parse_object(canonical_json(as_json(raw, what=what)), what=what)
        prepared, body = definition.prepare(raw)
        if await self._exists(run_id):
            raise RunExists(run_id)
        started = RunStarted(
            agent_def_hash=definition.hash,
            input=prepared,
            workflow=WorkflowRef(
                name=definition.name, version=definition.version, target=definition.target
            ),
        )
        async with self._taken(run_id, create=True) as taken:
            fence, head = taken.fence, taken.head
            if head.length:
                raise RunExists(run_id)
            recorder = Recorder(
                self._host.store, self._host.clock, fence=fence, head=head, last=None
            )
            await recorder.append(started)
            drive = Drive(self._host, recorder, Cursor(run_id, ()), definition, run_id)
            return taken.ended(await drive.to_rest(body))

    async def resume(
        self,
        definition: Definition,
        run_id: str,
        *,
        operator: bool = True,
        accept_changes: bool = False,
    ) -> RunResult[Any]:
        """Take a run over, replay its log and drive it until it rests.

        Args:
            definition: Its workflow.
            run_id: Which run.
            operator: Whether a person asked for it; nobody else drives a run that is stuck.
            accept_changes: Execute open calls by today's tools, whatever has changed (B5).
        """
        async with self._taken(run_id, operator=operator) as taken:
            envelopes, head = await read_log(self._host.store, run_id)
            cursor = Cursor(run_id, envelopes)
            started = cursor.begin(definition.hash, definition.title)
            if started is None or not isinstance(started.input, dict):
                raise WrongState(
                    f"run {run_id} was never begun: its log is empty.", hint="Start a new run."
                )
            _, body = definition.prepare(started.input)
            recorder = Recorder(
                self._host.store,
                self._host.clock,
                fence=taken.fence,
                head=head,
                last=envelopes[-1].event,
            )
            drive = Drive(
                self._host, recorder, cursor, definition, run_id, accept_changes=accept_changes
            )
            return taken.ended(await drive.to_rest(body))

    @asynccontextmanager
    async def session(
        self, run_id: str, name: str, *, accept_changes: bool
    ) -> AsyncIterator[Session]:
        """Take a session's run over, beginning it if need be."""
        async with self._taken(run_id, create=True) as taken:
            envelopes, head = await read_log(self._host.store, run_id)
            if envelopes and not is_session(envelopes):
                raise WrongState(
                    f"run {run_id}, which has the id of session {name!r}, is no session.",
                    hint="Use another name.",
                )
            last = envelopes[-1].event if envelopes else None
            recorder = Recorder(
                self._host.store, self._host.clock, fence=taken.fence, head=head, last=last
            )
            if not envelopes:
                await recorder.append(
                    RunStarted(agent_def_hash=SESSION_HASH, input={"session": name})
                )
            session = Session(
                self._host, recorder, run_id, envelopes, accept_changes=accept_changes
            )
            try:
                yield session
            finally:
                await session.leave()

    async def check_answer(self, definition: Definition, look: Look, answer: JsonValue) -> None:
        """Check an answer against the type the workflow asks for, by replaying to its park.

        Nothing is executed or recorded: the park is the end of the record.

        Raises:
            Divergence: the workflow does not get to that park.
            AnswerRefused: the answer does not fit the type.
        """
        run_id = look.head.run_id
        cursor = Cursor(run_id, look.envelopes)
        started = cursor.begin(definition.hash, definition.title)
        assert started is not None
        # The workflow may change what it is given, and the look is still in use.
        _, body = definition.prepare(parse_object(canonical_json(started.input)))
        nobody = Fence(run_id=run_id, epoch=-1, token="")  # every append would be refused
        recorder = Recorder(
            self._host.store, self._host.clock, fence=nobody, head=look.head, last=look.last
        )
        drive = Drive(self._host, recorder, cursor, definition, run_id)
        await drive.to_rest(body)
        if drive.run.asked is not None:
            try:
                drive.run.asked.decode(answer)
            except OutputRefused as error:
                problem = Problem(
                    pointer="", expected="what the workflow asks for", got=error.message
                )
                raise AnswerRefused(run_id=run_id, problems=(problem,)) from None

    def definition(self, state: RunState, workflow: Any = None) -> Definition:
        """The workflow of a run: the one given, or the one its head names.

        Raises:
            TargetError: the recorded target cannot be loaded.
        """
        ref = state.workflow
        if ref is None:
            if workflow is None:
                raise WrongState(
                    "the run does not say which workflow drives it.", hint="Name it: RUN TARGET."
                )
            return define(workflow)
        if ref.name.startswith(SINGLE):
            return single_call(self.tool(ref.name.removeprefix(SINGLE), ref.target), ref.target)
        return define(load_target(ref.target) if workflow is None else workflow)

    def tool(self, name: str, target: str) -> FunctionTool:
        """The tool of that name: registered, or found in the module of ``target``.

        Raises:
            UnknownToolError: it is in neither.
        """
        if name in self._host.registry or target.startswith(SINGLE):
            return self._host.registry.get(name)
        place, _ = split_target(target)
        for value in list(vars(load_module(place)).values()):
            if tool_meta(value) is not None and function_tool(value).name == name:
                return self._host.registry.for_function(value)
        raise UnknownToolError(name=name)

    def tool_of(self, look: Look, *, needed: bool) -> FunctionTool | None:
        """The tool of a run's open call.

        Args:
            look: The run.
            needed: Whether it matters that it cannot be found.

        Raises:
            SalvorError: it is needed, and cannot be found.
        """
        pending = look.state.open_call
        if pending is None:
            return None
        try:
            return self._tool(pending.tool, look)
        except SalvorError:
            if needed:
                raise
            return None

    def tool_at(self, look: Look, seq: int) -> FunctionTool:
        """The tool of the call that is a run's event ``seq``.

        Raises:
            SalvorError: it cannot be found.
        """
        intent = look.envelopes[seq].event
        assert isinstance(intent, ToolCallRequested)
        return self._tool(intent.tool, look)

    def parked_tool(self, look: Look) -> FunctionTool | None:
        """The tool whose park a run rests at, if it can be found."""
        rest = look.state.park or look.state.sleep
        if rest is None or rest.call is None or rest.call.seq is None:
            return None
        try:
            return self._tool(rest.call.tool, look)
        except SalvorError:
            return None

    def _tool(self, name: str, look: Look) -> FunctionTool:
        ref = look.state.workflow
        if ref is not None:
            return self.tool(name, ref.target)
        try:
            return self._host.registry.get(name)
        except UnknownToolError as error:
            hint = "A session does not say where its tools are; `[tools] modules` names them."
            raise UnknownToolError(name=name, nearest=error.nearest, hint=hint) from None

    async def _exists(self, run_id: str) -> bool:
        try:
            return (await self._host.store.head(run_id)).length > 0
        except UnknownRun:
            return False

    @asynccontextmanager
    async def _taken(
        self, run_id: str, *, create: bool = False, operator: bool = True
    ) -> AsyncIterator[_Taken]:
        """Hold the run's lease, renewed from the lease thread, and give it back."""
        host = self._host
        host.background.check_home()
        before = host.clock.boot()
        fence, head = await host.store.take_over(
            run_id, host.driver, lease=host.lease, create=create, operator=operator
        )
        host.keeper.add(fence, taken=before)
        taken = _Taken(fence, head)
        try:
            yield taken
        except (Exception, SystemExit) as error:
            taken.blameless = _no_fault_of_the_run(error)
            taken.cause = causes(error)
            raise
        except BaseException:
            taken.blameless = True  # cancelled is crashed (A7): a dead driver's run is due, too
            raise
        finally:
            if not host.overtime.holds(fence):
                host.keeper.remove(fence)
                with anyio.CancelScope(shield=True):
                    await self._release(taken)

    async def _release(self, taken: _Taken) -> None:
        try:
            await self._host.store.release(
                taken.fence, cause=taken.cause, blameless=taken.blameless
            )
        except StoreError:
            return  # the lease runs out by itself


def _no_fault_of_the_run(error: BaseException) -> bool:
    """Whether it may go on as it is, since what stopped it lies elsewhere and passes."""
    return isinstance(
        error, RunInterrupted | Unconfirmed | StoreBusy | StoreUnavailable | CommitUnknown
    )


def ended(run_id: str, state: RunState, definition: Definition | None) -> RunResult[Any]:
    """What a run that has ended gives back; nothing is executed.

    Raises:
        Divergence: the workflow is another one than the run's, or its return type refuses
            the recorded output.
    """
    ref = state.workflow
    if definition is not None and ref is not None:
        recorded, asked = (f"{one.name} version {one.version}" for one in (ref, definition))
        if recorded != asked:
            raise _diverges(run_id, 0, "agent_def_hash", recorded, asked)
    if state.status == "failed":
        return Failed(run_id=run_id, error=state.error or "", final=True)
    if state.status == "abandoned":
        return Abandoned(
            run_id=run_id, reason=state.reason, by=state.by, unresolved=state.unresolved_write
        )
    try:
        output = state.output if definition is None else definition.decode(state.output)
    except OutputRefused as error:
        recorded = "an output of another type"
        raise _diverges(run_id, state.next_seq - 1, "output", recorded, error.message) from None
    return Completed(run_id=run_id, output=output, recorded=state.output)


def _diverges(run_id: str, position: int, field: str, recorded: str, asked: str) -> Divergence:
    return Divergence(
        run_id=run_id, position=position, field=field, recorded=recorded, requested=asked
    )
