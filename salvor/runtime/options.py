"""What one call does otherwise than its tool says."""

from __future__ import annotations

from dataclasses import replace

from salvor.errors import ArgumentsRefused, Problem
from salvor.runtime.caller import CallOptions
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, as_json, canonical_json


def checked_options(*, timeout: float | None, key: str | int | None) -> CallOptions:
    """Options that can be meant.

    Raises:
        ValueError: naming the option, what it takes and what came.
    """
    seconds = type(timeout) in (int, float)
    if timeout is not None and not (seconds and 0 < timeout < 1e9):
        raise ValueError(f"timeout has to be a number of seconds above 0, got {timeout!r}.")
    fits = (isinstance(key, str) and key != "") or type(key) is int
    if key is not None and not fits:
        raise ValueError(f"key has to be text that is not empty, or an integer, got {key!r}.")
    as_json(key, what="the key")
    return CallOptions(timeout=timeout, key=key)


def with_options(tool: FunctionTool, options: CallOptions) -> FunctionTool:
    """The tool as this one call has it.

    Raises:
        ArgumentsRefused: the option does not go with this tool.
    """
    if options.timeout is None:
        return tool
    if tool.meta.inline:
        raise _refused(tool, "no timeout for an inline tool", "timeout", options.timeout)
    return replace(tool, meta=replace(tool.meta, timeout=options.timeout))


def key_for(tool: FunctionTool, arguments: JsonObject, options: CallOptions) -> str | None:
    """The declared key of a call: the tool's, or the option's.

    Raises:
        ArgumentsRefused: it cannot be found, or the option does not go with this tool.
    """
    if options.key is None:
        return tool.key(arguments)
    if tool.effect == "read":
        raise _refused(tool, "no key for a read: it may always run again", "key", options.key)
    if tool.meta.idempotency_key is not None:
        raise _refused(tool, "no key beside the one the tool declares", "key", options.key)
    return canonical_json({"key": options.key})


def _refused(tool: FunctionTool, expected: str, option: str, got: object) -> ArgumentsRefused:
    problem = Problem(pointer="", expected=expected, got=f"options({option}={got!r})")
    return ArgumentsRefused(tool=tool.name, problems=(problem,))
