"""Tools as other sources would bring them: same kind, another source id."""

from __future__ import annotations

from dataclasses import replace

from salvor.registry.naming import ALL, Naming, Selection
from salvor.registry.registry import Registry
from salvor.tools.contract import Effect
from salvor.tools.decorator import make_meta
from salvor.tools.function import FunctionTool, function_tool


def server(
    source_id: str,
    *originals: str,
    naming: Naming = Naming(),  # noqa: B008
    selection: Selection = ALL,
    effect: Effect = "write",
    key: str | None = None,
) -> list[FunctionTool]:
    """The tools of a server, named and selected as the operator's data says."""
    finals = naming.finals(selection.of(originals), source=source_id)
    return [_tool(source_id, name, final, effect, key) for name, final in finals.items()]


def _tool(
    source_id: str, original: str, final: str, effect: Effect, key: str | None
) -> FunctionTool:
    def act(claim: str, note: str = "") -> None:
        """Act."""

    meta = make_meta(effect=effect, idempotency_key=key)
    made = function_tool(act, meta=meta, name=final)
    return replace(made, source_id=source_id, original_name=original, origin=f"{source_id} tools")


def named(registry: Registry) -> list[str]:
    return [found.name for found in registry]
