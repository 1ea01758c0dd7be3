"""Docstrings: what a tool does and what its parameters mean. Reading one never fails."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Any, Final

from salvor.tools.contract import inside
from salvor.tools.sections import Sections, parted

MAX_CHARACTERS: Final = 20_000
MAX_BRACKETS: Final = 40
_BRACKET: Final = "\ue028"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocText:
    """What a docstring says.

    Attributes:
        description: What the function does, without the sections.
        parameters: What it says of each name; some may be no parameters at all.
    """

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def documentation_of(function: Any) -> str | None:
    """The docstring of a function, of what a partial binds, or of a callable object."""
    for step in inside(function):
        if isinstance(step, FunctionType | MethodType) and step.__name__ != "__call__":
            found = inspect.getdoc(step)
        else:  # a class says what it is, as a rule, and `partial` always the same
            found = getattr(step, "__dict__", {}).get("__doc__") or (
                step.__doc__ if isinstance(step, FunctionType | MethodType) else None
            )
        if isinstance(found, str) and not found.isspace() and found:
            return found
    cls = type(function)
    if isinstance(function, FunctionType | MethodType | partial) or not isinstance(
        cls.__doc__, str
    ):
        return None
    # A dataclass without a docstring is given its signature as one.
    return None if cls.__doc__.startswith(f"{cls.__name__}(") else cls.__doc__


def read_docstring(text: str | None, names: Collection[str] = ()) -> DocText:
    """Read a docstring in Google, NumPy, Sphinx or Epytext style.

    The text is parted here and the parser is given only what it is needed for: it loses whole
    sections, and the description with them, over one odd line.

    Args:
        text: The docstring.
        names: The parameters there are, which tells entries from prose where both may be meant.
    """
    if not text or text.isspace():
        return DocText()
    lines = [line.rstrip() for line in inspect.cleandoc(text[:MAX_CHARACTERS]).splitlines()]
    found = parted(lines, frozenset(names))
    described = dict(found.entries)
    for name, meaning in _parsed(found):
        described.setdefault(name, meaning)
    return DocText(description="\n".join(found.prose).strip(), parameters=described)


def _parsed(found: Sections) -> Iterator[tuple[str, str]]:
    if not found.numpy and not found.fields:
        return
    from docstring_parser import DocstringStyle

    for section in found.numpy:
        title = ["Parameters", "----------"]
        yield from _of_parser([*title, *section], DocstringStyle.NUMPYDOC)
    for mark, style in ((":", DocstringStyle.REST), ("@", DocstringStyle.EPYDOC)):
        fields = [lines for lines in found.fields if lines[0].startswith(mark)]
        if fields:
            together = list(_of_parser([line for lines in fields for line in lines], style))
            yield from together or (pair for lines in fields for pair in _of_parser(lines, style))


def _of_parser(lines: list[str], style: Any) -> list[tuple[str, str]]:
    from docstring_parser import parse

    # The parser's patterns take cubic time where many brackets stand in a line.
    tame = [
        line.replace("(", _BRACKET) if line.count("(") > MAX_BRACKETS else line for line in lines
    ]
    try:
        return list(_described(parse("\n".join(["Text.", "", *tame]), style=style).params))
    except Exception:  # whatever a docstring holds, the tool is still a tool
        return []


def _described(parameters: Iterable[object]) -> Iterator[tuple[str, str]]:
    for parameter in parameters:
        meaning = (getattr(parameter, "description", None) or "").strip()
        for name in (getattr(parameter, "arg_name", None) or "").split(","):
            if meaning:
                yield name.strip(" \\*"), meaning.replace(_BRACKET, "(")
