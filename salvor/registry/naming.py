"""Which tools of a source are taken, and what they are called here: both as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from salvor.errors import DuplicateToolError, ToolDefinitionError
from salvor.tools.contract import check_name

_ILLEGAL = r"[^a-zA-Z0-9_-]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """Which tools of a source are taken, by their names in it.

    A pattern is a name, or holds ``*``, ``?`` and ``[...]`` as file names do; it covers what it
    says and no more. What is excluded stays out, whatever is included.

    Attributes:
        include: Only what one of these covers; `None` takes all.
        exclude: Nothing that one of these covers.
    """

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()

    def takes(self, original: str) -> bool:
        """Whether a tool is taken."""
        if any(fnmatchcase(original, pattern) for pattern in self.exclude):
            return False
        return self.include is None or any(
            fnmatchcase(original, pattern) for pattern in self.include
        )

    def of(self, originals: Iterable[str]) -> tuple[str, ...]:
        """Those that are taken, in their order.

        Raises:
            ToolDefinitionError: a pattern covers nothing, and so was meant otherwise.
        """
        names = tuple(originals)
        for pattern in (*(self.include or ()), *self.exclude):
            if not any(fnmatchcase(name, pattern) for name in names):
                raise _no_such(f"the selection names {pattern!r}", pattern, names)
        return tuple(name for name in names if self.takes(name))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Naming:
    """What the tools of a source are called here.

    Attributes:
        prefix: Put before every name that is not renamed.
        rename: By the name in the source, the whole name here.
        adapt: Put ``_`` for characters that no name here may hold, as in ``cal.event/update``.
    """

    prefix: str = ""
    rename: Mapping[str, str] = field(default_factory=dict)
    adapt: bool = False

    def final(self, original: str) -> str:
        """The name here of one tool; it is not checked."""
        if original in self.rename:
            return self.rename[original]
        return self.prefix + (re.sub(_ILLEGAL, "_", original) if self.adapt else original)

    def finals(self, originals: Iterable[str], *, source: str) -> dict[str, str]:
        """By the names in a source, the names here.

        Args:
            originals: The names of the tools that are taken.
            source: The source, for messages.

        Raises:
            ToolDefinitionError: a name cannot be one, or what is renamed is not there.
            DuplicateToolError: two tools would have one name.
        """
        names = tuple(originals)
        for renamed in self.rename:
            if renamed not in names:
                raise _no_such(f"rename names {renamed!r}", renamed, names)
        taken: dict[str, str] = {}
        for name in names:
            final = self.final(name)
            check_name(final, f"{name} of {source}")
            if final in taken:
                raise DuplicateToolError(
                    name=final,
                    first=f"{taken[final]} of {source}",
                    second=f"{name} of {source}",
                    hint="Give one of them another name with rename.",
                )
            taken[final] = name
        return {name: final for final, name in taken.items()}


ALL = Selection()


def _no_such(what: str, name: str, names: tuple[str, ...]) -> ToolDefinitionError:
    from salvor.registry.nearest import did_you_mean  # which only a refusal needs

    there = f"There are: {', '.join(sorted(names))}." if names else "It has no tools."
    return ToolDefinitionError(
        f"{what}, and the source has no such tool.", hint=did_you_mean(name, names) or there
    )
