"""The verbs with which runs that rest go on by themselves, as a sweeper uses them."""

from __future__ import annotations

from abc import ABC
from typing import Any

from salvor.errors import SalvorError
from salvor.events.fold import RunState
from salvor.run_errors import LeaseHeld, NotYet, WakeFailed, WrongState
from salvor.runtime.causes import causes
from salvor.runtime.driving import Driving, ended
from salvor.runtime.host import Host
from salvor.runtime.looking import Look
from salvor.runtime.operator import Operator
from salvor.runtime.outcome import OpenWrite, Parked, RunResult
from salvor.runtime.session_log import is_session, rest_of
from salvor.runtime.waking import Waking
from salvor.runtime.words import check_limit
from salvor.runtime.workflow import Definition
from salvor.values import parse_run_id


class WakeVerbs(ABC):
    """`wake` and `wake_due`."""

    _host: Host
    _driving: Driving
    _operator: Operator
    _waking: Waking

    async def wake(self, run_id: str, workflow: Any = None) -> RunResult[Any]:
        """Go on with a run whose time or signal has come, as a sweeper does.

        Raises:
            NotYet: it sleeps, and the instant has not come.
            RunStuck: it got nowhere again and again; an operator's `resume` may go on.
            LeaseHeld: somebody drives it.
        """
        run_id = parse_run_id(run_id)
        look = await self._operator.look(run_id)
        look.refuse_unbegun()
        definition = self._definition(look, workflow)
        if look.state.ended:
            return ended(run_id, look.state, definition)
        resting = look.parked()
        if resting is not None and not await self._waking.woken(look):
            if look.state.sleep is not None:
                raise NotYet(run_id=run_id, until=look.state.sleep.wake_at)
            return resting
        look = await self._operator.look_again(look)
        if definition is None:
            return await self._session_rest(look)
        if look.state.open_call is None and await self._cancelled(look):
            return ended(run_id, (await self._operator.look_again(look)).state, definition)
        state = look.state
        del look, resting  # the drive reads for itself: one log at a time is in memory
        return await self._go_on(run_id, state, definition, operator=False)

    async def wake_due(self, *, limit: int = 100) -> dict[str, RunResult[Any] | SalvorError]:
        """Wake every run that is due, up to so many that go on: one pass of a sweeper.

        Returns:
            By run, where it rests now, or the error that kept it from going on. Runs that
            somebody else drives by now are left out.
        """
        check_limit(limit)
        found: dict[str, RunResult[Any] | SalvorError] = {}
        tried: set[str] = set()
        went_on = 0
        while went_on < limit:
            # Those that cannot go on stay due, and must not hide the others behind them.
            due = await self._host.store.due(limit=limit + len(tried))
            fresh = [run_id for run_id in due if run_id not in tried][: limit - went_on]
            if not fresh:
                break
            for run_id in fresh:
                if self._host.interrupted.is_set():
                    return found
                tried.add(run_id)
                result = await self._woken(run_id)
                if result is not None:
                    found[run_id] = result
                went_on += not isinstance(result, SalvorError | None)
        return found

    async def _woken(self, run_id: str) -> RunResult[Any] | SalvorError | None:
        """Where a run rests now, or why it does not go on; ``None``: it is somebody else's."""
        try:
            result = await self.wake(run_id)
            if isinstance(result, Parked | OpenWrite):
                await self._put_off(run_id)
        except (LeaseHeld, NotYet):
            return None
        except SalvorError as error:
            return error
        except Exception as error:  # one run's fault must not keep the others from going on
            return WakeFailed(run_id=run_id, cause=causes(error))
        return result

    async def _put_off(self, run_id: str) -> None:
        """Say when a run that rests is due again, unless what made it due ends its park."""
        look = await self._operator.look(run_id)
        now, due = self._host.clock.now(), look.head.due_at
        if look.head.lease is not None or due is None or due > now:
            return
        # What came before this look is in the inbox; what comes after it moves the instant.
        rests = look.state.status == "needs-reconciliation" or look.parked() is not None
        if rests and not await self._waking.woken(look):
            await self._waking.put_off(look)

    def _definition(self, look: Look, workflow: Any) -> Definition | None:
        """The workflow that drives a run; a session has none, its loop is elsewhere (C7)."""
        if not is_session(look.envelopes):
            return self._driving.definition(look.state, workflow)
        if workflow is not None:
            raise WrongState(
                f"run {look.head.run_id} is a session, which no workflow drives.",
                hint="Open it with `runtime.session(name)`.",
            )
        return None

    async def _cancelled(self, look: Look) -> bool:
        """End a run that nobody drives, and that nothing is open of, if it is cancelled (D5)."""
        cancel = await self._host.store.cancelled(look.head.run_id)
        if cancel is None or look.state.ended:
            return False
        await self._waking.cancelled(look, cancel)
        return True

    async def _session_rest(self, look: Look) -> RunResult[Any]:
        """Where a session rests; it is not due again before its own time, or a new hint."""
        run_id = look.head.run_id
        cancel = None if look.state.ended else await self._host.store.cancelled(run_id)
        if cancel is not None and look.state.status != "needs-reconciliation":
            await self._waking.cancelled(look, cancel)
            look = await self._operator.look_again(look)
        if look.state.ended:
            return ended(run_id, look.state, None)
        await self._waking.put_off(look)
        return rest_of(run_id, look.envelopes, look.state)

    async def _go_on(
        self,
        run_id: str,
        state: RunState,
        definition: Definition,
        *,
        operator: bool = True,
        accept_changes: bool = False,
    ) -> RunResult[Any]:
        if state.ended:
            return ended(run_id, state, definition)
        return await self._driving.resume(
            definition, run_id, operator=operator, accept_changes=accept_changes
        )
