"""Reads that run at the same time, recorded in the order they were asked for (C2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio

from salvor.errors import ArgumentsRefused, ConcurrentUseError, JsonRefused, ToolFailed
from salvor.events.cursor import Cursor, Recorded
from salvor.events.records import Cancel
from salvor.events.vocabulary import ToolCallCompleted, ToolCallRequested
from salvor.runtime.alone import alone
from salvor.runtime.attempts import Attempts, OpenCall
from salvor.runtime.call_errors import bound
from salvor.runtime.caller import PLAIN, CallSpec
from salvor.runtime.calls import Calls, Pair
from salvor.runtime.ending import honoured
from salvor.runtime.host import Host
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject


class CallsFailed(ExceptionGroup[ToolFailed]):
    """Some of the calls of one `gather` failed."""

    def derive(self, excs: Sequence[ToolFailed]) -> CallsFailed:  # type: ignore[override]
        """Keep the type when it is split."""
        return CallsFailed(self.message, excs)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call that was asked for: a read, with its raw arguments."""

    tool: FunctionTool
    raw: JsonObject


class Gathering:
    """The reads of one `gather`; what is recorded of them is replayed, the rest is made."""

    def __init__(self, host: Host, recorder: Recorder, cursor: Cursor, run_id: str) -> None:
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._run_id = run_id
        self._calls = Calls(host, recorder, cursor, run_id)

    async def made(self, specs: Sequence[CallSpec[Any]]) -> tuple[Any, ...]:
        """The values in order.

        Raises:
            ExceptionGroup: of the `ToolFailed` of those that failed, after all have ended.
            Halt: the run stops here.
        """
        asked = [self._asked(one) for one in specs]
        pairs: list[Pair | ToolFailed] = []
        for index, one in enumerate(asked):
            if isinstance(one, ToolFailed):
                pairs.append(one)
            elif self._cursor.live:
                pairs.extend(await self._live(asked[index:]))
                break
            else:
                pairs.append(await self._recorded(one))
        return self._values(asked, pairs)

    def _asked(self, spec: Any) -> _Asked | ToolFailed:
        if not isinstance(spec, CallSpec):
            raise Halt(Broken(_no_spec(spec)))
        tool = self._host.registry.for_function(spec.fn)
        if tool.effect != "read":
            raise Halt(Broken(_no_read(tool)))
        if self._calls.asks(tool):
            raise Halt(Broken(_wants_approval(tool)))
        try:
            return _Asked(tool, bound(tool, spec.args, spec.kwargs))
        except ToolFailed as failed:
            return failed

    async def _recorded(self, one: _Asked) -> Pair:
        step = self._cursor.call(one.tool.name, one.raw)
        if isinstance(step, Recorded):
            return step.intent, step.completion
        # A read that was begun alone, by code that has changed since, or a pair cut in two.
        return await self._calls.unended(one.tool, one.raw, step, PLAIN)

    async def _live(self, asked: Sequence[_Asked | ToolFailed]) -> list[Pair | ToolFailed]:
        self._host.check_interrupt(self._run_id)
        batch = _Batch(self._recorder, len(asked))
        base = self._recorder.next_seq
        calls = [one for one in asked if isinstance(one, _Asked)]
        async with anyio.create_task_group() as group:
            for place, one in enumerate(calls):
                group.start_soon(self._one, batch, place, one, base + 2 * place)
        if batch.broken is not None:
            raise batch.broken
        made = iter(batch.pairs)
        return [next(made) if isinstance(one, _Asked) else one for one in asked]

    async def _one(self, batch: _Batch, place: int, one: _Asked, seq: int) -> None:
        try:
            await batch.put(place, await self._ended(one, seq))
        except Exception as error:
            batch.broken = batch.broken or error

    async def _ended(self, one: _Asked, seq: int) -> Pair:
        try:
            prepared = one.tool.prepare(one.raw)
        except (ArgumentsRefused, JsonRefused) as error:
            return self._calls.refusal(one.tool, one.raw, str(error), seq)
        intent = self._calls.intent(one.tool, prepared.arguments, one.raw, seq)
        await alone(self._host, self._run_id, seq, None, one.tool.name)
        attempts = Attempts(self._host, self._recorder, self._run_id, gathered=True)
        call = OpenCall(tool=one.tool, values=prepared.values, intent=intent, claim=None)
        return await attempts.run(call)

    def _values(
        self, asked: Sequence[_Asked | ToolFailed], pairs: Sequence[Pair | ToolFailed]
    ) -> tuple[Any, ...]:
        values: list[Any] = []
        failed: list[ToolFailed] = []
        for one, pair in zip(asked, pairs, strict=True):
            try:
                if isinstance(pair, ToolFailed):
                    raise pair
                assert isinstance(one, _Asked)
                values.append(self._calls.value(one.tool, *pair))
            except ToolFailed as error:
                failed.append(error)
        if failed:
            raise CallsFailed(f"{len(failed)} of {len(pairs)} calls failed", failed)
        return tuple(values)


class _Batch:
    """Pairs as they come; each is recorded as soon as all before it are."""

    def __init__(self, recorder: Recorder, size: int) -> None:
        self._recorder = recorder
        self._ended: dict[int, Pair] = {}
        self._lock = anyio.Lock()
        self.pairs: list[Pair] = []
        self.broken: Exception | None = None
        self._size = size

    async def put(self, place: int, pair: Pair) -> None:
        """Take a pair, and record what can be recorded now."""
        self._ended[place] = pair
        async with self._lock:
            ready: list[Pair] = []
            while len(self.pairs) + len(ready) in self._ended:
                ready.append(self._ended[len(self.pairs) + len(ready)])
            events: list[ToolCallRequested | ToolCallCompleted] = [
                event for one in ready for event in one
            ]
            if events and self.broken is None:
                seen = await self._recorder.append(*events, heeds_cancel=True)
                if isinstance(seen, Cancel):
                    raise Halt(Rest(await honoured(self._recorder, seen)))
                self.pairs.extend(ready)


def _no_spec(got: object) -> ConcurrentUseError:
    return ConcurrentUseError(
        f"gather() takes call specifications, got {type(got).__name__}.",
        hint="Write `run.gather(spec(find, 'a'), spec(find, 'b'))`.",
    )


def _no_read(tool: FunctionTool) -> ConcurrentUseError:
    return ConcurrentUseError(
        f"{tool.name} is declared {tool.effect}, and only reads run at the same time.",
        hint="Await `run.call(...)` for each.",
    )


def _wants_approval(tool: FunctionTool) -> ConcurrentUseError:
    return ConcurrentUseError(
        f"{tool.name} may need approval, which is asked for one call at a time.",
        hint="Await `run.call(...)` for each.",
    )
