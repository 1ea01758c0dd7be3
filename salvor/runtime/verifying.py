"""Resolving an open write by its tool's own question to the outside world (DURABILITY F3)."""

from __future__ import annotations

import inspect
from typing import Any

from salvor.errors import OutputRefused
from salvor.events.vocabulary import ToolCallRequested
from salvor.run_errors import NoQuestion
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.execution import causes
from salvor.runtime.resolve import NotDone, Resolution, ResolvedOutput
from salvor.tools.function import FunctionTool
from salvor.tools.verification import CannotTell, Happened, NotHappened


async def asked(
    tool: FunctionTool | None,
    intent: ToolCallRequested,
    threads: BodyThreads,
    *,
    worker_dead: bool,
) -> Resolution | str:
    """What an open write came to, as far as its tool can find out, or why it cannot.

    "It did not happen" may be only late: it passes the same gate as an operator's word (F2).

    Args:
        tool: Whose question it is.
        intent: The open write.
        threads: Where a synchronous question runs.
        worker_dead: The word that nobody is left who could still do it.

    Raises:
        NoQuestion: the tool has none, or is not there.
    """
    if tool is None or tool.meta.verify is None:
        raise NoQuestion(tool=intent.tool)
    try:
        found = await _asked(tool, intent, threads)
    except Exception as error:  # the question itself failed: nothing is known
        return f"its verify failed: {causes(error)}"
    if isinstance(found, NotHappened):
        return NotDone(worker_dead=worker_dead)
    if isinstance(found, CannotTell):
        return found.why
    if not isinstance(found, Happened):
        return f"its verify gave back a {type(found).__name__}"
    try:
        return ResolvedOutput(tool.encode_output(found.output))
    except OutputRefused as error:
        return f"what its verify found does not fit the tool: {error.message}"


async def _asked(tool: FunctionTool, intent: ToolCallRequested, threads: BodyThreads) -> Any:
    verify = tool.meta.verify
    assert verify is not None
    arguments = dict(intent.input) if isinstance(intent.input, dict) else {}
    if inspect.iscoroutinefunction(verify):
        return await verify(arguments, intent.idempotency_key)
    result = await threads.run(lambda: verify(arguments, intent.idempotency_key))
    return await result if inspect.isawaitable(result) else result
