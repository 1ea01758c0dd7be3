"""How one tool looks in full."""

from __future__ import annotations

import textwrap

from salvor.cli.render import paragraph, pretty, printable
from salvor.tools.function import FunctionTool


def tool_page(tool: FunctionTool) -> str:
    """Name, effect, key, origin, description and schemas."""
    facts = [
        ("effect", tool.effect),
        ("key", _key(tool)),
        ("from", tool.origin),
        ("digest", tool.digest),
    ]
    parts = [
        printable(tool.name),
        *(f"  {name:<8}{printable(value)}" for name, value in facts if value),
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
