"""Docstrings: what a tool does and what its parameters mean. Reading one never fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class DocText:
    """What a docstring says."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> DocText:
    from docstring_parser import parse

    if not text:
        return DocText()
    found = parse(text)
    return DocText(
        description=found.description or "",
        parameters={p.arg_name: p.description or "" for p in found.params},
    )
