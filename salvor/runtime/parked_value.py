"""What the end of a tool's park gives its call, and whether that is an output of the tool."""

from __future__ import annotations

from typing import Any

from salvor.errors import OutputRefused, Problem, ToolFailed, listed
from salvor.events.cursor import Answered
from salvor.events.outputs import slept
from salvor.events.vocabulary import SleepStarted, Suspended
from salvor.store_errors import Divergence
from salvor.tools.check import schema_problems
from salvor.tools.function import FunctionTool
from salvor.values import JsonValue


def misfits(tool: FunctionTool | None, schema: JsonValue, value: JsonValue) -> tuple[Problem, ...]:
    """What is wrong with a value as the output of a call whose tool parked its run.

    Args:
        tool: The tool, where it can be found; without it the schema alone counts.
        schema: What the park asks for, if it asks.
        value: What ended the park.
    """
    problems = schema_problems(schema, value) if isinstance(schema, dict) else ()
    if problems or tool is None:
        return problems
    try:
        tool.decode_output(value)
    except OutputRefused as error:
        return error.problems
    return ()


def parked_value(tool: FunctionTool, step: Answered, run_id: str) -> Any:
    """What a call gives whose tool parked its run, as today's return type has it.

    Raises:
        ToolFailed: the park ended with what the tool never gives; it acted all the same.
        Divergence: the tool has changed since it parked, and refuses what the old one may
            have taken.
    """
    park = step.park
    if isinstance(park, SleepStarted):
        value: JsonValue = slept(park.wake_at)
    else:
        value = step.input
    try:
        return tool.decode_output(value)
    except OutputRefused as error:
        if _never_fitted(tool, park, value):
            raise ToolFailed(
                tool=tool.name,
                kind="output_serialization",
                message=f"its park ended with what it does not give: {listed(error.problems)}",
                extent="yes",
                attempts=1,
            ) from None
        raise Divergence(
            run_id=run_id,
            position=step.seq + 1,
            field="output",
            recorded="an output of another type",
            requested=error.message,
        ) from None


def _never_fitted(tool: FunctionTool, park: Suspended | SleepStarted, value: JsonValue) -> bool:
    if isinstance(park, Suspended) and misfits(None, park.input_schema, value):
        return True
    then = None if park.call is None else park.call.tool_digest
    return then is None or then == tool.digest
