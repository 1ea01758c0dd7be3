"""A tool of any source, as the exports see it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from salvor.tools.contract import Effect
from salvor.values import JsonObject


@dataclass(frozen=True)
class Declared:
    """What a server or an operator declares, with any schema."""

    input_schema: JsonObject = field(default_factory=lambda: {"type": "object"})
    output_schema: JsonObject | None = None
    name: str = "act"
    description: str = "Act."
    effect: Effect = "write"


def taking(**fields: Any) -> Declared:
    """A tool whose fields, all required, have these schemas."""
    return Declared(
        {
            "type": "object",
            "properties": fields,
            "required": list(fields),
            "additionalProperties": False,
        }
    )
