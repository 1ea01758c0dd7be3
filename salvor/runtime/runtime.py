"""The runtime: starts, resumes, answers and resolves the runs of one store."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

import anyio

from salvor.clock import Clock, Ids
from salvor.events.records import Driver
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.run_errors import AnswerConflict, UnknownRun
from salvor.runtime.attempts import open_write
from salvor.runtime.background import Background
from salvor.runtime.bodies import DEFAULT_LIMIT, BodyThreads
from salvor.runtime.driving import Driving
from salvor.runtime.host import Host, Progress
from salvor.runtime.keyed import Keyed
from salvor.runtime.leases import LeaseKeeper
from salvor.runtime.looking import Look
from salvor.runtime.named import named_run_id
from salvor.runtime.operator import Operator
from salvor.runtime.operator_claims import OperatorClaims
from salvor.runtime.outcome import OpenWrite, RunResult
from salvor.runtime.overtime import Overtime
from salvor.runtime.parks import MISSING, Missing
from salvor.runtime.run import Run
from salvor.runtime.session import Session
from salvor.runtime.shared import Shared
from salvor.runtime.upkeep import Upkeep
from salvor.runtime.verbs import Verbs
from salvor.runtime.verifying import asked
from salvor.runtime.waking import Waking
from salvor.runtime.workflow import SINGLE, bind, define, single_call
from salvor.store_errors import Conflict
from salvor.tools.approval import ApprovalRule
from salvor.tools.around import Guard
from salvor.tools.foreign import ForeignTable, Verdict
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, JsonValue, parse_run_id

P = ParamSpec("P")
R = TypeVar("R")


class Runtime(Verbs):
    """Drives runs in the calling task, against one store and one registry.

    An async context manager: leaving it stops the lease thread and closes the store.

    Args:
        store: Where logs, claims and leases are.
        registry: The tools.
        clock: Wall clock and boot-time clock.
        ids: Run ids, tokens, random bits.
        lease: Seconds a lease lasts; renewed every quarter of it.
        claim_wait: Seconds to wait for another run that holds a key before parking.
        namespace: The operator's namespace for claims.
        max_threads: Synchronous bodies that run at a time.
        progress: Told what tools report with `Context.progress`, in the tool's thread.
        guards: Middleware around every execution, the first one outermost.
        approvals: Which calls a person has to approve first.
        foreign: What exceptions of libraries say of a call, beside those that are known.
    """

    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        clock: Clock,
        ids: Ids,
        lease: float = 30.0,
        claim_wait: float = 10.0,
        namespace: str = "default",
        max_threads: int = DEFAULT_LIMIT,
        progress: Callable[[Progress], None] | None = None,
        guards: Sequence[Guard] = (),
        approvals: Sequence[ApprovalRule] = (),
        foreign: Mapping[str, Verdict] | None = None,
    ) -> None:
        self.registry = registry
        self.store = store
        threads, background = BodyThreads(max_threads), Background()
        keeper = LeaseKeeper(store, clock, lease=lease)
        self._host = Host(
            store=store,
            registry=registry,
            clock=clock,
            ids=ids,
            driver=Driver(id=ids.token(), pid=os.getpid(), host=socket.gethostname()),
            threads=threads,
            keeper=keeper,
            interrupted=threading.Event(),
            background=background,
            shared=Shared(background, threads),
            overtime=Overtime(background, store, keeper),
            lease=lease,
            claim_wait=claim_wait,
            namespace=namespace,
            progress=progress,
            guards=tuple(guards),
            approvals=tuple(approvals),
            foreign=ForeignTable(foreign),
        )
        self._driving = Driving(self._host)
        self._waking = Waking(self._host, self._driving)
        self._operator = Operator(self._host, self._waking)
        self.upkeep = Upkeep(self._host)
        self.claims = OperatorClaims(self._host, self._operator, self._driving)

    async def __aenter__(self) -> Self:
        await self._host.background.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close what tools share, stop the lease thread, and close the store.

        What was acknowledged is stored; bodies that outlived their time limit are left alone.
        """
        try:
            with anyio.CancelScope(shield=True):
                await self._host.shared.close()
        finally:
            # Not under a shield: its scope is older than that would be.
            await self._close_rest()

    async def _close_rest(self) -> None:
        try:
            await self._host.background.close()
        finally:
            with anyio.CancelScope(shield=True):
                self._host.keeper.stop()
                self._host.threads.close()
                await self.store.close()

    def new_run_id(self) -> str:
        """A fresh run id, for callers that want to know it before they start."""
        return self._host.ids.run_id()

    @property
    def interrupted(self) -> bool:
        """Whether drives were asked to stop."""
        return self._host.interrupted.is_set()

    def interrupt(self) -> None:
        """Ask every drive to stop after its running call; they raise `RunInterrupted`.

        May be called from any thread and from a signal handler.
        """
        self._host.interrupted.set()

    async def run(
        self,
        workflow: Callable[Concatenate[Run, P], Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> RunResult[R]:
        """Start a workflow with Python values, and drive it until it rests."""
        return cast("RunResult[R]", await self.start(workflow, bind(workflow, args, kwargs)))

    async def start(
        self,
        workflow: Callable[Concatenate[Run, P], Awaitable[R]],
        input: JsonObject | None = None,
        *,
        run_id: str | None = None,
    ) -> RunResult[R]:
        """Start a workflow with JSON input, and drive it until it rests.

        Raises:
            ArgumentsRefused: the input does not fit; nothing was recorded.
            RunExists: the run id was used before.
        """
        started = self._driving.start(define(workflow), input or {}, self._run_id(run_id))
        return cast("RunResult[R]", await started)

    async def call_tool(
        self,
        tool: FunctionTool,
        arguments: JsonObject,
        *,
        run_id: str | None = None,
        target: str | None = None,
    ) -> RunResult[Any]:
        """Make one call of one tool, as a run of its own.

        Args:
            tool: What to call; it is registered if it is not yet.
            arguments: Its arguments as JSON.
            run_id: A fresh one by default.
            target: Where the tool is found again when the run is resumed; by default it is
                looked up by name among the registered ones.
        """
        if tool.name not in self.registry:
            self.registry.for_function(tool.fn)
        definition = single_call(tool, target or f"{SINGLE}{tool.name}")
        return await self._driving.start(definition, arguments, self._run_id(run_id))

    async def resume(
        self,
        run_id: str,
        workflow: Any = None,
        *,
        answer: JsonValue | Missing = MISSING,
        park: int | None = None,
        by: str | None = None,
        accept_changes: bool = False,
        verify: bool = False,
        worker_dead: bool = False,
    ) -> RunResult[Any]:
        """Go on with a run, whatever made it stop; one that has ended is only reported.

        Args:
            run_id: Which run.
            workflow: Its function; by default it is loaded from the recorded target.
            answer: What the run waits for, if it is suspended. Without one, a suspended run
                is reported as parked.
            park: The position of the park that the answer is for.
            by: Who answers.
            accept_changes: Make an open call again although its tool was changed since (B5).
            verify: Let the tool of an open write ask the outside world whether it happened (F3).
            worker_dead: The word that nobody is left who could still do it, for `verify`.

        Raises:
            UnknownRun, LeaseHeld: no such run, or somebody drives it.
            WrongState: an answer was given and the run waits for none.
            AnswerRefused: the answer does not fit; the run is still parked.
            AnswerConflict, DeadlinePassed: somebody or something answered first.
            NoQuestion: the tool of the open write cannot ask.
            NotDoneRefused: it did not happen yet, and may still.
            ToolChanged: an open call would be made by another tool than it was asked of.
        """
        run_id = parse_run_id(run_id)
        look = await self._operator.look(run_id)
        look.refuse_unbegun()
        definition = self._definition(look, workflow)
        if not isinstance(answer, Missing):
            look = await self._answered(look, answer, park=park, by=by, workflow=workflow)
        else:
            await self._waking.woken(look)
            if verify and look.state.status == "needs-reconciliation":
                still_open = await self._verified(look, worker_dead=worker_dead)
                if still_open is not None:
                    return still_open
        look = await self._operator.look_again(look)
        if definition is None:
            return await self._session_rest(look)
        state = look.state
        del look  # the drive reads for itself: one log at a time is in memory
        return await self._go_on(run_id, state, definition, accept_changes=accept_changes)

    async def _verified(self, look: Look, *, worker_dead: bool) -> OpenWrite | None:
        """Resolve an open write by what its tool finds out; what stays open is given back."""
        intent = look.state.open_call
        assert intent is not None
        tool = self._driving.tool_of(look, needed=True)
        found = await asked(tool, intent, self._host.threads, worker_dead=worker_dead)
        if isinstance(found, str):
            return open_write(look.head.run_id, intent, found)
        await self._operator.resolve(look, found, tool, by="verify")
        return None

    def keyed(self, name: str) -> Keyed[Any]:
        """The run of that name: started by whoever comes first, gone on with by the others."""
        return Keyed(self, name, named_run_id("keyed", self._host.namespace, name))

    @asynccontextmanager
    async def session(self, name: str, *, accept_changes: bool = False) -> AsyncIterator[Session]:
        """Open the session of that name, for calls of a loop that is not ours (C7).

        What it waits for and has come (its time, a signal, a deadline, a cancel) is recorded
        first. The lease is held until the block is left: whoever is to answer waits for that.

        Args:
            name: Which session; it is begun if it is not there.
            accept_changes: Make an open call again although its tool was changed since (B5).

        Raises:
            LeaseHeld: another process has it open.
        """
        run_id = named_run_id("session", self._host.namespace, name)
        with suppress(UnknownRun, AnswerConflict, Conflict):  # it begins, or somebody was faster
            await self._waking.woken(await self._operator.look(run_id))
        opened = self._driving.session(run_id, name, accept_changes=accept_changes)
        async with opened as session:
            yield session

    def _run_id(self, given: str | None) -> str:
        return self.new_run_id() if given is None else parse_run_id(given)
