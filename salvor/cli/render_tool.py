"""How one tool looks in full."""

from __future__ import annotations

import textwrap

from salvor.cli.render import paragraph, pretty, printable
from salvor.registry.registry import Registry
from salvor.tools.function import FunctionTool


def tool_page(registry: Registry, tool: FunctionTool) -> str:
    """Name, effect, key, provenance, the operator's word, description and schemas."""
    facts = [
        ("effect", tool.effect),
        ("key", _key(tool)),
        ("from", tool.origin),
        ("source", tool.source_id),
        ("there", tool.original_name if tool.original_name != tool.name else ""),
        *(("operator", text) for text in operator_words(registry, tool)),
        ("digest", tool.digest),
    ]
    parts = [
        printable(tool.name),
        *(f"  {name:<10}{printable(value)}" for name, value in facts if value),
        "",
        paragraph(tool.description.strip()),
        "",
        "Takes:",
        textwrap.indent(pretty(tool.input_schema), "  "),
    ]
    if tool.output_schema is not None:
        parts += ["", "Gives:", textwrap.indent(pretty(tool.output_schema), "  ")]
    return "\n".join(parts)


def _key(tool: FunctionTool) -> str:
    key = tool.meta.idempotency_key
    if key is None:
        return ""
    if isinstance(key, str):
        return key
    return ", ".join(key) if isinstance(key, tuple) else "computed from the arguments"


def operator_words(registry: Registry, tool: FunctionTool) -> list[str]:
    """Where the operator's word differs from what the tool's source declares."""
    return [
        f"{found.option} {found.operator} (declared: {found.declared})"
        for found in registry.differences(tool.name)
    ]
