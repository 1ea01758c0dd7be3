"""The parts of a docstring: its prose, and what it says of parameters, style by style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

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
_FENCES: Final = ("```", "~~~")
_google = re.compile(r"([A-Za-z][A-Za-z ]{1,24}):").fullmatch
_markdown = re.compile(
    r"(?:#{1,6} +|(\*\*|__))([A-Za-z][A-Za-z ]{1,24}?):?(?(1)\1):?(?: *#*)"
).fullmatch
_underline = re.compile(r"-{3,}").fullmatch
_entry = re.compile(
    r"(?P<bullet>[-*+\u2022] +)?[\\*`]{0,4}(?P<name>\w+)[*`]{0,4} ?(?:\(.{0,400}?\))?[*`]{0,4}"
    r"(?P<mark> ?:[*`]{0,4}| +(?:--?|[\u2013\u2014]))(?: +(?P<text>.*)|)"
).fullmatch
_tight = re.compile(r"[-*+\u2022]? *[\\*`]{0,4}(\w+)[*`]{0,4} ?[:\uff1a](.*)").fullmatch
_field = re.compile(
    r"[:@](?:param|parameter|arg|argument|attribute|key|keyword|kwarg|type|returns?|rtype|raises?"
    r"|except|exception|yields?|ytype|[ic]?var)\b"
).match
_numpy_entry = re.compile(r"[\\*]{0,4}\w+(?:, ?[\\*]{0,4}\w+)*(?: ?:.*)?").fullmatch


@dataclass(slots=True, kw_only=True)
class Sections:
    """A docstring, taken apart.

    Attributes:
        prose: The lines that describe the function.
        entries: What Google and Markdown sections say of each name.
        numpy: The bodies of NumPy sections of parameters.
        fields: Sphinx and Epytext fields, each with the lines that go on below it.
    """

    prose: list[str] = field(default_factory=list)
    entries: dict[str, str] = field(default_factory=dict)
    numpy: list[list[str]] = field(default_factory=list)
    fields: list[list[str]] = field(default_factory=list)


def parted(lines: list[str], names: frozenset[str]) -> Sections:
    """Take a docstring apart; sections on anything but parameters and prose are dropped."""
    found = Sections()
    position = 0
    while position < len(lines):
        start = position
        title = _title(lines, start)
        if lines[start].startswith(_FENCES):
            position = _end_of_fence(lines, start)
            found.prose.extend(lines[start:position])
        elif title is not None:
            position = _end_of_section(lines, start + 1, names)
            if title in _PARAMETERS:
                found.prose.extend(_take(found.entries, lines[start:position], names))
        elif (title := _numpy_title(lines, start)) is not None:
            position = _end_of_numpy(lines, start + 2, title)
            if title in _PARAMETERS:
                found.numpy.append(lines[start + 2 : position])
        elif _field(lines[start]):
            position = _end_of_field(lines, start + 1)
            found.fields.append(lines[start:position])
        else:
            found.prose.append(lines[start])
            position += 1
    return found


def _take(into: dict[str, str], section: list[str], names: frozenset[str]) -> list[str]:
    """Take the entries of a section; gives back the lines of it that belong to no entry."""
    before, *entries = _entries(section[1:], names)
    for name, text in entries:
        into.setdefault(name, text)
    if entries:
        return before[1].splitlines()
    return section if names and any(section[1:]) else []


def _end_of_fence(lines: list[str], start: int) -> int:
    # What is fenced is an example, whatever it looks like; a fence that is left open is a line.
    fence = lines[start][:3]
    for position in range(start + 1, len(lines)):
        if lines[position].startswith(fence):
            return position + 1
    return start + 1


def _title(lines: list[str], position: int) -> str | None:
    line = lines[position]
    match = _google(line)
    found = match.group(1) if match else None
    if found is None and line[:1] in ("#", "*", "_"):
        match = _markdown(line)
        found = match.group(2) if match else None
    title = found.lower().strip() if found else ""
    return title if title in _PARAMETERS or title in _OTHERS else None


def _numpy_title(lines: list[str], position: int) -> str | None:
    title = lines[position].lower()
    known = title in _PARAMETERS or title in _OTHERS
    return title if known and _underline("".join(lines[position + 1 : position + 2])) else None


def _end_of_section(lines: list[str], start: int, names: frozenset[str]) -> int:
    # A section ends at a blank line that is followed by unindented text, or at a title.
    # (A docstring that begins with a section loses its indentation to `cleandoc`.)
    position = start
    while position < len(lines) and not lines[position]:
        position += 1
    first = position
    while position < len(lines):
        line = lines[position]
        if line and not line.startswith(" "):
            after_blank = position > start and not lines[position - 1]
            if _begins(lines, position) or (after_blank and not _goes_on(line, names)):
                break
            if position == first and after_blank and _read(line, names) is None:
                break
        position += 1
    return position


def _begins(lines: list[str], position: int) -> bool:
    return bool(_title(lines, position) or _numpy_title(lines, position) or _field(lines[position]))


def _goes_on(line: str, names: frozenset[str]) -> bool:
    entry = _read(line, names)
    return entry is not None and (entry[0] in names or line[0] in "-*+\u2022")


def _end_of_numpy(lines: list[str], start: int, title: str) -> int:
    position = start
    while position < len(lines):
        line = lines[position]
        if line and not line.startswith(" "):
            after_blank = position > start and not lines[position - 1]
            prose = title in _PARAMETERS and not _numpy_entry(line)
            if _begins(lines, position) or _is_heading(lines, position) or (after_blank and prose):
                break
        position += 1
    return position


def _is_heading(lines: list[str], position: int) -> bool:
    return bool(_underline("".join(lines[position + 1 : position + 2])))


def _end_of_field(lines: list[str], start: int) -> int:
    position = start
    while position < len(lines):
        line = lines[position]
        if line and not line.startswith(" ") and (not lines[position - 1] or _field(line)):
            break
        if line and _begins(lines, position):
            break
        position += 1
    return position


def _entries(body: list[str], names: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Each name with its text: what stands behind it and what goes on below it.

    Before them, under no name, what stands above the first.
    """
    texts = [line for line in body if line]
    base = len(texts[0]) - len(texts[0].lstrip()) if texts else 0
    name, said = "", [""]
    for line in body:
        text = line.strip()
        at_base = len(line) - len(line.lstrip()) == base
        entry = _read(text, names) if text and at_base else None
        if entry is None:
            said.append(text)
            continue
        yield name, "\n".join(said).strip()
        name, said = entry[0], [entry[1]]
    yield name, "\n".join(said).strip()


def _read(line: str, names: frozenset[str]) -> tuple[str, str] | None:
    match = _entry(line)
    if match is None:
        tight = _tight(line)
        return (tight[1], tight[2].strip()) if tight and tight[1] in names else None
    name = match["name"]
    dashed = ":" not in match["mark"]
    if dashed and not (name in names or (match["bullet"] and not names)):
        return None
    return name, (match["text"] or "").strip()
