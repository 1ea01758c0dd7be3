"""One call of a run: from the record, or live under the rules of DURABILITY A, B and E."""

from __future__ import annotations

from typing import Any

from salvor.errors import ArgumentsRefused, JsonRefused, OutputRefused, ToolFailed, UnknownToolError
from salvor.events.claims import ClaimId
from salvor.events.cursor import Cursor, Dangling, Recorded
from salvor.events.vocabulary import (
    ERROR_SENTINEL,
    EffectName,
    ToolCallCompleted,
    ToolCallRequested,
    failure_output,
)
from salvor.runtime.attempts import Attempts, OpenCall, open_write
from salvor.runtime.claiming import Claiming, taking
from salvor.runtime.execution import storable
from salvor.runtime.host import Host
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.store_errors import Divergence, UnsupportedEvent
from salvor.tools.function import FunctionTool
from salvor.values import (
    MAX_ARGUMENT_BYTES,
    JsonObject,
    JsonValue,
    as_json,
    canonical_json,
    content_hash,
    text_hash,
)

CRASHED = "the process that made the call ended before its outcome was recorded"


class Calls:
    """Makes the calls of one run, one at a time."""

    def __init__(self, host: Host, recorder: Recorder, cursor: Cursor, run_id: str) -> None:
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._run_id = run_id
        self._claiming = Claiming(host, recorder, run_id)
        self._attempts = Attempts(host, recorder, run_id)

    async def call(self, tool: FunctionTool, raw: JsonObject) -> Any:
        """Call a tool with raw arguments; returns the decoded output.

        Raises:
            ToolFailed: the call ended in a failure; the same live and on replay.
            Halt: the run stops here.
        """
        intent, completion = await self._ended(tool, tool.name, raw)
        return self._value(tool, intent, completion)

    async def call_named(self, name: str, raw: JsonObject) -> Any:
        """Call whatever tool has that name; an unknown name is a recorded failure."""
        try:
            as_json(name, what="the name of the tool")
            as_json(raw, what=f"the arguments of {name}")
        except JsonRefused as error:
            raise ToolFailed(
                tool=storable(name), kind="invalid_input", message=error.message, extent="no"
            ) from None
        try:
            tool = self._host.registry.get(name)
        except UnknownToolError as error:
            unknown = error
        else:
            return await self.call(tool, raw)
        step = self._cursor.call(name, raw)
        if isinstance(step, Recorded):
            return self._value(None, step.intent, step.completion)
        if isinstance(step, Dangling):
            raise Halt(Broken(unknown))
        refusal = self._intent(name, raw, effect="read", given=raw)
        completion = await self._refuse(refusal, "unknown_tool", str(unknown))
        return self._value(None, refusal, completion)

    async def _ended(
        self, tool: FunctionTool, name: str, raw: JsonObject
    ) -> tuple[ToolCallRequested, ToolCallCompleted]:
        step = self._cursor.call(name, raw)
        if isinstance(step, Recorded):
            return step.intent, step.completion
        self._host.check_interrupt(self._run_id)
        if isinstance(step, Dangling):
            return step.intent, await self._again(tool, step.intent)
        return await self._live(tool, raw, step.first)

    async def _live(
        self, tool: FunctionTool, raw: JsonObject, first: ToolCallRequested | None
    ) -> tuple[ToolCallRequested, ToolCallCompleted]:
        try:
            prepared = tool.prepare(raw)
            declared = tool.key(prepared.arguments)
        except (ArgumentsRefused, JsonRefused) as error:
            shown = raw if len(canonical_json(raw)) <= MAX_ARGUMENT_BYTES else {}
            intent = self._intent(tool.name, shown, effect=tool.effect, given=raw, tool=tool)
            return intent, await self._refuse(intent, "invalid_input", str(error))
        claim_id = self._claim_id(tool, declared)
        while True:
            await self._claiming.alone(claim_id, tool.name)
            intent = self._intent(
                tool.name,
                prepared.arguments,
                effect=tool.effect,
                given=raw,
                tool=tool,
                key=declared or self._derived_key(tool, first),
            )
            take = taking(claim_id, intent, self._run_id)
            seen = await self._recorder.append(intent, claims=(take,) if take else ())
            if seen is None:
                call = OpenCall(tool=tool, values=prepared.values, intent=intent, claim=claim_id)
                return intent, await self._attempts.run(call)
            assert take is not None
            completion = await self._claiming.answer(seen, intent, take)
            if completion is not None:
                if completion.outcome is None:
                    self._value(tool, intent, completion)  # a copy nobody here could read
                await self._recorder.append(intent, completion)
                return intent, completion

    async def _again(self, tool: FunctionTool, intent: ToolCallRequested) -> ToolCallCompleted:
        """Go on with a call whose outcome is unknown."""
        if intent.effect == "write":
            raise Halt(Rest(open_write(self._run_id, intent, CRASHED)))
        await self._host.store.confirm(self._recorder.fence)
        claim = await self._host.store.held_claim(self._run_id, intent.seq)
        assert isinstance(intent.input, dict)
        call = OpenCall(
            tool=tool,
            values=tool.prepare(intent.input).values,
            intent=intent,
            claim=None if claim is None else claim.id,
            before="unknown",
        )
        return await self._attempts.run(call)

    def _intent(
        self,
        name: str,
        arguments: JsonObject,
        *,
        effect: EffectName,
        given: JsonObject,
        tool: FunctionTool | None = None,
        key: str | None = None,
    ) -> ToolCallRequested:
        return ToolCallRequested(
            seq=self._recorder.next_seq,
            tool=name,
            input=arguments,
            effect=effect,
            idempotency_key=key,
            tool_digest=None if tool is None else tool.digest,
            given=content_hash(given),
        )

    def _derived_key(self, tool: FunctionTool, first: ToolCallRequested | None) -> str | None:
        if tool.effect == "read":
            return None
        seq = self._recorder.next_seq if first is None else first.seq
        # The canonical text of {run, seq, tool}; ids and tool names need no escaping.
        return text_hash(f'{{"run":"{self._run_id}","seq":{seq},"tool":"{tool.name}"}}')

    def _claim_id(self, tool: FunctionTool, key: str | None) -> ClaimId | None:
        if key is None:
            return None
        return ClaimId(namespace=self._host.namespace, scope=tool.claim_scope, key=key)

    async def _refuse(
        self, intent: ToolCallRequested, kind: str, message: str
    ) -> ToolCallCompleted:
        completion = ToolCallCompleted(
            seq=intent.seq,
            output=failure_output(kind=kind, message=message, attempts=0),
            outcome="error",
            extent="no",
        )
        await self._recorder.append(intent, completion)
        return completion

    def _value(
        self, tool: FunctionTool | None, intent: ToolCallRequested, completion: ToolCallCompleted
    ) -> Any:
        if completion.outcome == "error":
            raise failure(intent, completion)
        if completion.outcome is not None or tool is None:
            raise UnsupportedEvent(
                run_id=self._run_id,
                seq=intent.seq + 1,
                what=f"a call that ended in {completion.outcome or 'an output'} here",
            )
        try:
            return tool.decode_output(completion.output)
        except OutputRefused as error:
            raise Divergence(
                run_id=self._run_id,
                position=intent.seq + 1,
                field="output",
                recorded="an output of another type",
                requested=error.message,
            ) from None


def failure(intent: ToolCallRequested, completion: ToolCallCompleted) -> ToolFailed:
    """The error that a recorded failure raises."""
    told: JsonValue = completion.output
    body = told.get(ERROR_SENTINEL) if isinstance(told, dict) else None
    fields = body if isinstance(body, dict) else {}
    attempts = fields.get("attempts")
    return ToolFailed(
        tool=intent.tool,
        kind=str(fields.get("kind", "handler")),
        message=str(fields.get("message", "the call failed")),
        extent=completion.extent or "unknown",
        attempts=attempts if isinstance(attempts, int) else 0,
    )
