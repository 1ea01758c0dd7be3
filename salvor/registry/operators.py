"""The operator's word on tools, which wins over what a source declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from salvor.tools.contract import Effect, Retry, ToolMeta, check_meta
from salvor.tools.decorator import check_key_parameter
from salvor.tools.function import FunctionTool
from salvor.tools.idempotency import check_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the operator says of one tool; `None` leaves what its source declares.

    Attributes:
        effect: What a call does to the world.
        key: The fields of the arguments that say which call it is, as dotted paths of the
            names they have in JSON.
        claim_scope: The name under which keys are claimed.
        retry: How often a failed call is tried.
        timeout: Seconds to wait for a call.
        approval: Whether a person has to say yes to each call.
        place: Where it was said, for messages.
    """

    effect: Effect | None = None
    key: str | tuple[str, ...] | None = None
    claim_scope: str | None = None
    retry: Retry | None = None
    timeout: float | None = None
    approval: bool | None = None
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where the operator's word differs from what a source declares.

    Attributes:
        option: The option of the operator's table.
        declared: What the source declares, as text.
        operator: What the operator says, as text.
    """

    option: str
    declared: str
    operator: str


_OPTIONS: Mapping[str, str] = {
    "effect": "effect",
    "key": "idempotency_key",
    "claim_scope": "claim_scope",
    "retry": "retry",
    "timeout": "timeout",
    "approval": "approval",
}


def worded(tool: FunctionTool, word: Word) -> FunctionTool:
    """The tool as the operator says it is; the given one is kept.

    Raises:
        ToolDefinitionError: what is said cannot be meant of this tool.
    """
    said: dict[str, Any] = {
        field: getattr(word, option)
        for option, field in _OPTIONS.items()
        if getattr(word, option) is not None
    }
    meta = replace(tool.meta, **said)
    check_meta(meta)
    if word.key is None:
        return replace(tool, meta=meta, _digest=[])
    _check_key(tool, meta)
    return replace(tool, meta=meta, _digest=[], _wires={})


def differences(declared: FunctionTool, effective: FunctionTool) -> tuple[Difference, ...]:
    """Where the operator's word changed what a tool declares."""
    return tuple(
        Difference(
            option=option,
            declared=_shown(getattr(declared.meta, field)),
            operator=_shown(getattr(effective.meta, field)),
        )
        for option, field in _OPTIONS.items()
        if getattr(declared.meta, field) != getattr(effective.meta, field)
    )


def _check_key(tool: FunctionTool, meta: ToolMeta) -> None:
    required: Any = tool.input_schema.get("required", [])
    for path in meta.key_paths:
        check_key_parameter(path, required)
        check_path(path, tool.input_schema, {})


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Retry):
        return f"{value.attempts} attempts, backoff {value.backoff:g} s"
    if callable(value):
        return "computed from the arguments"
    return f"{value:g} s" if isinstance(value, float) else str(value)
