"""Docstrings: what a tool does and what its parameters mean. Reading one never fails."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

MAX_CHARACTERS: Final = 20_000
MAX_BRACKETS: Final = 40

_PARAMETERS: Final = frozenset(
    {
        "args",
        "arguments",
        "params",
        "parameters",
        "keyword args",
        "keyword arguments",
        "other parameters",
    }
)
_OTHERS: Final = frozenset(
    {
        "attributes",
        "returns",
        "return",
        "yields",
        "yield",
        "raises",
        "exceptions",
        "except",
        "example",
        "examples",
    }
)
_heading = re.compile(r"([A-Za-z][A-Za-z ]{1,24}):").fullmatch
_entry = re.compile(r"[\\*]{0,4}(\w+) ?(?:\(.{0,400}?\))? ?:(?: +(.*)|)").fullmatch
_marks = re.compile(r"^(?:[:@]\w|-{3,}$|={3,}$)", re.MULTILINE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class DocText:
    """What a docstring says.

    Attributes:
        description: What the function does, without the sections.
        parameters: What it says of each name; some may be no parameters at all.
    """

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> DocText:
    """Read a docstring in Google, NumPy, Sphinx or Epytext style."""
    if not text or text.isspace():
        return DocText()
    lines = [line.rstrip() for line in inspect.cleandoc(text[:MAX_CHARACTERS]).splitlines()]
    prose, entries = _split_sections(lines)
    body = "\n".join(prose).strip()
    if not entries and not _marks(body):
        return DocText(description=body)
    if any(line.count("(") > MAX_BRACKETS for line in (*prose, *entries)):
        # The parser's patterns take cubic time there.
        return DocText(description=_first_paragraph(body))
    try:
        return _parsed(body, entries)
    except Exception:  # whatever a docstring holds, the tool is still a tool
        return DocText(description=_first_paragraph(body))


def _parsed(body: str, entries: list[str]) -> DocText:
    from docstring_parser import DocstringStyle, parse

    named: dict[str, str] = {}
    if entries:
        section = "\n".join(["Arguments.", "", "Args:", *entries])
        found = parse(section, style=DocstringStyle.GOOGLE)
        named.update(_described(found.params))
    if not _marks(body):
        return DocText(description=body, parameters=named)
    found = parse(body)
    for name, meaning in _described(found.params):
        named.setdefault(name, meaning)
    return DocText(description=(found.description or "").strip(), parameters=named)


def _described(parameters: Iterable[object]) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        meaning = (getattr(parameter, "description", None) or "").strip()
        for name in getattr(parameter, "arg_name", "").split(","):
            if meaning:
                yield name.strip(" \\*"), meaning


def _first_paragraph(body: str) -> str:
    return body.partition("\n\n")[0].strip()


def _split_sections(lines: list[str]) -> tuple[list[str], list[str]]:
    """Part Google sections from the prose; the entries of parameters come back tidied.

    The parser loses whole sections over one odd line, so it is given none.
    """
    prose: list[str] = []
    entries: list[str] = []
    position = 0
    while position < len(lines):
        title = _title(lines[position])
        if title is None:
            prose.append(lines[position])
            position += 1
            continue
        end = _end_of_section(lines, position + 1)
        if title in _PARAMETERS:
            entries.extend(_tidied(lines[position + 1 : end]))
        position = end
    return prose, entries


def _title(line: str) -> str | None:
    match = _heading(line)
    title = match.group(1).lower() if match else ""
    return title if title in _PARAMETERS or title in _OTHERS else None


def _end_of_section(lines: list[str], start: int) -> int:
    # A section ends at a blank line that is followed by unindented text, or at a title.
    # (A docstring that begins with a section loses its indentation to `cleandoc`.)
    position = start
    while position < len(lines):
        line = lines[position]
        outside = bool(line) and not line.startswith(" ")
        if outside and (_title(line) or (position > start and not lines[position - 1])):
            break
        position += 1
    return position


def _tidied(body: list[str]) -> Iterator[str]:
    """Entries at one level, each with its name and a colon, continuations below it."""
    texts = [line for line in body if line]
    base = len(texts[0]) - len(texts[0].lstrip()) if texts else 0
    for line in texts:
        match = _entry(line.strip()) if len(line) - len(line.lstrip()) == base else None
        if match is None:
            yield f"        {line.strip()}"
        else:
            yield f"    {match.group(1)}: {match.group(2) or ''}".rstrip()
