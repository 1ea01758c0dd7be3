"""One call of a run: from the record, or live under the rules of DURABILITY A, B and E."""

from __future__ import annotations

from typing import Any, TypeAlias

from salvor.errors import ArgumentsRefused, JsonRefused, OutputRefused, UnknownToolError
from salvor.events.claims import Claim, ClaimId
from salvor.events.cursor import CallStep, Cursor, Dangling, Fresh, Recorded, Waiting
from salvor.events.records import Cancel, Stands
from salvor.events.vocabulary import (
    ParkedCall,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.runtime.alone import alone
from salvor.runtime.approval import Answer, Approvals, call_to_approve
from salvor.runtime.attempts import AskAgain, Attempts, OpenCall, open_write
from salvor.runtime.call_errors import changed_since, check_named, failure, refused
from salvor.runtime.caller import PLAIN, CallOptions
from salvor.runtime.claiming import Claiming, taking
from salvor.runtime.ending import honoured
from salvor.runtime.host import Host
from salvor.runtime.options import key_for, with_options
from salvor.runtime.outcome import parked_at
from salvor.runtime.parked_value import parked_value
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, Halt, Rest
from salvor.store_errors import Divergence, MalformedLog, UnsupportedEvent
from salvor.tools.approval import Asked
from salvor.tools.function import FunctionTool
from salvor.values import (
    MAX_ARGUMENT_BYTES,
    JsonObject,
    JsonValue,
    canonical_json,
    content_hash,
    text_hash,
)

Pair: TypeAlias = tuple[ToolCallRequested, ToolCallCompleted]

CRASHED = "the process that made the call ended before its outcome was recorded"


class Calls:
    """Makes the calls of one run, one at a time."""

    def __init__(
        self,
        host: Host,
        recorder: Recorder,
        cursor: Cursor,
        run_id: str,
        *,
        accept_changes: bool = False,
    ) -> None:
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._run_id = run_id
        self._accept_changes = accept_changes
        self._approvals = Approvals(host)
        self._claiming = Claiming(host, recorder, run_id)
        self._attempts = Attempts(host, recorder, run_id)

    async def call(self, tool: FunctionTool, raw: JsonObject, options: CallOptions = PLAIN) -> Any:
        """Call a tool with raw arguments; returns the decoded output.

        Raises:
            ToolFailed: the call ended in a failure; the same live and on replay.
            Halt: the run stops here.
        """
        intent, completion = await self._ended(tool, raw, options)
        if completion.outcome in ("suspend", "sleep"):
            return self._parked(tool, intent)
        return self.value(tool, intent, completion)

    def _parked(self, tool: FunctionTool, intent: ToolCallRequested) -> Any:
        """What a call gives whose tool parked the run, once the park is over."""
        step = self._cursor.parked_call(intent)
        if step is None:
            raise MalformedLog(
                run_id=self._run_id, seq=intent.seq + 1, detail="the park of its tool is missing"
            )
        if isinstance(step, Waiting):
            raise Halt(Rest(parked_at(self._run_id, step.seq, step.park)))
        return parked_value(tool, step, self._run_id)

    async def call_named(self, name: str, raw: JsonObject, options: CallOptions = PLAIN) -> Any:
        """Call whatever tool has that name; an unknown name is a recorded failure."""
        found = self._named(name, raw)
        if isinstance(found, FunctionTool):
            return await self.call(found, raw, options)
        step, answer = self._recorded_call(name, raw)
        if isinstance(step, Recorded):
            return self.value(None, step.intent, step.completion)
        if step != Fresh() or answer is not None:
            raise Halt(Broken(found))  # begun while there was such a tool: nothing ends it but that
        return self.value(None, *await self._unknown(name, raw, options, found))

    async def ended_named(
        self, name: str, raw: JsonObject, options: CallOptions
    ) -> tuple[FunctionTool | None, Pair]:
        """Make a call that is not recorded, of whatever tool has that name, to its end."""
        found = self._named(name, raw)
        if isinstance(found, FunctionTool):
            return found, await self.unended(found, raw, Fresh(), options)
        return None, await self._unknown(name, raw, options, found)

    def _named(self, name: str, raw: JsonObject) -> FunctionTool | UnknownToolError:
        check_named(name, raw)
        try:
            return self._host.registry.get(name)
        except UnknownToolError as error:
            return error

    async def _unknown(
        self, name: str, raw: JsonObject, options: CallOptions, unknown: UnknownToolError
    ) -> Pair:
        intent = ToolCallRequested(
            seq=self._recorder.next_seq,
            tool=name,
            input=_shown(raw),
            effect="read",
            idempotency_key=None,
            given=content_hash(raw),
            call_id=options.call_id,
        )
        return await self._recorded(intent, refused(intent, "unknown_tool", str(unknown)))

    async def _ended(self, tool: FunctionTool, raw: JsonObject, options: CallOptions) -> Pair:
        step, answer = self._recorded_call(tool.name, raw)
        if isinstance(step, Recorded):
            return step.intent, step.completion
        return await self.unended(tool, raw, step, options, answer)

    def _recorded_call(self, name: str, raw: JsonObject) -> tuple[CallStep, Answer | None]:
        """What the record has of the next call: its end, or what it began with (B2, B3).

        A call that is to be made live comes with the approval that no intent has used up yet.
        """
        answer: Answer | None = None
        first: ToolCallRequested | None = None
        while True:
            asked = self._cursor.approval(name)
            if isinstance(asked, Waiting):
                raise Halt(Rest(parked_at(self._run_id, asked.seq, asked.park)))
            if asked is not None:
                answer = Answer.of(asked)
                continue
            before = self._cursor.position
            step = self._cursor.call(name, raw)
            if not isinstance(step, Fresh):
                return step, answer
            first = first or step.first
            if self._cursor.position != before:
                answer = None  # an intent has used it up (B2)
            if self._cursor.live:
                return Fresh(first=first), answer

    async def unended(
        self,
        tool: FunctionTool,
        raw: JsonObject,
        step: Dangling | Fresh,
        options: CallOptions,
        answer: Answer | None = None,
    ) -> Pair:
        """Make a call that is not recorded to its end."""
        self._host.check_interrupt(self._run_id)
        if isinstance(step, Dangling):
            return await self._again(tool, step.intent, options)
        first = step.first
        while True:
            try:
                return await self._live(tool, raw, first, options, answer)
            except AskAgain as consumed:  # an approval is not carried over (B2)
                first, answer = first or consumed.intent, None

    async def _live(
        self,
        tool: FunctionTool,
        raw: JsonObject,
        first: ToolCallRequested | None,
        options: CallOptions,
        answer: Answer | None,
    ) -> Pair:
        try:
            prepared = tool.prepare(raw)
            declared = key_for(tool, prepared.arguments, options)
            tool = with_options(tool, options)
        except (ArgumentsRefused, JsonRefused) as error:
            seq = self._recorder.next_seq
            return await self._recorded(*self.refusal(tool, raw, str(error), seq, options.call_id))
        exact = call_to_approve(tool, prepared.arguments, declared)
        asked = self._approvals.asked(tool, prepared.arguments)
        if answer is None or not answer.covers(exact):
            if asked is not None:
                await self._ask(asked, exact)
        elif not answer.yes:
            seq = self._recorder.next_seq
            intent = self.intent(tool, prepared.arguments, raw, seq, options.call_id)
            return await self._recorded(intent, refused(intent, "denied", answer.refusal))
        claim_id = self._claim_id(tool, declared)
        while True:
            seq = self._recorder.next_seq
            await alone(self._host, self._run_id, seq, claim_id, tool.name)
            key = declared or self._derived_key(tool, seq if first is None else first.seq)
            intent = self.intent(tool, prepared.arguments, raw, seq, options.call_id, key)
            take = taking(claim_id, intent, self._run_id)
            claims = (take,) if take else ()
            seen = await self._recorder.append(intent, claims=claims, heeds_cancel=True)
            if seen is None:
                call = OpenCall(
                    tool=tool,
                    values=prepared.values,
                    intent=intent,
                    claim=claim_id,
                    approved=asked is not None,
                )
                return await self._attempts.run(call)
            await self._heed(seen)
            assert take is not None
            assert isinstance(seen, Claim)
            completion = await self._claiming.answer(seen, intent, take)
            if completion is not None:
                if completion.outcome is None:
                    self.value(tool, intent, completion)  # a copy nobody here could read
                return await self._recorded(intent, completion)

    async def _ask(self, asked: Asked, call: ParkedCall) -> None:
        """Park until somebody approved exactly this call (D2)."""
        park, due = self._approvals.park(asked, call)
        seq = self._recorder.next_seq
        await self._heed(await self._recorder.append(park, due=due, heeds_cancel=True))
        raise Halt(Rest(parked_at(self._run_id, seq, park)))

    async def _heed(self, seen: Stands | None) -> None:
        if isinstance(seen, Cancel):
            raise Halt(Rest(await honoured(self._recorder, seen)))

    async def _recorded(self, intent: ToolCallRequested, completion: ToolCallCompleted) -> Pair:
        """Record a call that ended before it was executed (B6)."""
        await self._heed(await self._recorder.append(intent, completion, heeds_cancel=True))
        return intent, completion

    async def _again(
        self, tool: FunctionTool, intent: ToolCallRequested, options: CallOptions
    ) -> Pair:
        """Go on with a call whose outcome is unknown."""
        if intent.effect == "write":
            raise Halt(Rest(open_write(self._run_id, intent, CRASHED)))
        changed = intent.tool_digest not in (None, tool.digest)
        if changed and not self._accept_changes:
            raise Halt(Broken(changed_since(self._run_id, intent, tool)))
        if not tool.meta.inline:
            tool = with_options(tool, options)
        await self._host.store.confirm(self._recorder.fence)
        claim = await self._host.store.held_claim(self._run_id, intent.seq)
        claim_id = None if claim is None else claim.id
        # A body that a cancelled call left behind may still be at it.
        await alone(self._host, self._run_id, intent.seq, claim_id, tool.name)
        assert isinstance(intent.input, dict)
        call = OpenCall(
            tool=tool,
            values=tool.prepare(intent.input).values,
            intent=intent,
            claim=claim_id,
            before="unknown",
            executed_by=tool.digest if changed else None,
        )
        return await self._attempts.run(call)

    def intent(
        self,
        tool: FunctionTool,
        arguments: JsonObject,
        given: JsonObject,
        seq: int,
        call_id: str | None = None,
        key: str | None = None,
    ) -> ToolCallRequested:
        """The intent of a call at position ``seq``."""
        return ToolCallRequested(
            seq=seq,
            tool=tool.name,
            input=arguments,
            effect=tool.effect,
            idempotency_key=key,
            tool_digest=tool.digest,
            given=content_hash(given),
            call_id=call_id,
            limit=None if tool.meta.timeout is None else float(tool.meta.timeout),
        )

    def refusal(
        self,
        tool: FunctionTool,
        raw: JsonObject,
        message: str,
        seq: int,
        call_id: str | None = None,
    ) -> Pair:
        """What is recorded of a call whose arguments are refused."""
        intent = self.intent(tool, _shown(raw), raw, seq, call_id)
        return intent, refused(intent, "invalid_input", message)

    def asks(self, tool: FunctionTool) -> bool:
        """Whether a call of the tool may need an approval."""
        return self._approvals.may_ask(tool)

    def _derived_key(self, tool: FunctionTool, seq: int) -> str | None:
        if tool.effect == "read":
            return None
        # The canonical text of {run, seq, tool}; ids and tool names need no escaping.
        return text_hash(f'{{"run":"{self._run_id}","seq":{seq},"tool":"{tool.name}"}}')

    def _claim_id(self, tool: FunctionTool, key: str | None) -> ClaimId | None:
        if key is None:
            return None
        return ClaimId(namespace=self._host.namespace, scope=tool.claim_scope, key=key)

    def value(
        self, tool: FunctionTool | None, intent: ToolCallRequested, completion: ToolCallCompleted
    ) -> Any:
        """What a call that has ended gives its caller."""
        if completion.outcome == "error":
            raise failure(intent, completion)
        # A value is read by the type of its tool; without the tool the run stops at it.
        tool = tool or self._host.registry.get(intent.tool)
        if completion.outcome is not None:
            raise UnsupportedEvent(
                run_id=self._run_id,
                seq=intent.seq + 1,
                what=f"a call that ended in {completion.outcome} here",
            )
        return self.decoded(tool, completion.output, intent.seq + 1)

    def decoded(self, tool: FunctionTool, output: JsonValue, position: int) -> Any:
        """A recorded output as today's return type has it."""
        try:
            return tool.decode_output(output)
        except OutputRefused as error:
            raise Divergence(
                run_id=self._run_id,
                position=position,
                field="output",
                recorded="an output of another type",
                requested=error.message,
            ) from None


def _shown(raw: JsonObject) -> JsonObject:
    """The arguments of a call that is refused, as far as a log keeps them."""
    return raw if len(canonical_json(raw)) <= MAX_ARGUMENT_BYTES else {}
