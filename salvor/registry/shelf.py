"""Where a registry keeps its tools: one index for every question, none of which scans."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from salvor.errors import DuplicateToolError, ToolDefinitionError
from salvor.registry.operators import Word, worded
from salvor.tools.function import NATIVE, FunctionTool

Pair = tuple[FunctionTool, FunctionTool]


class Shelf:
    """Tools by name, by function, by the name in their source, and by whose keys they claim.

    Attributes:
        declared: By name, the tools as their sources declare them, in the order of adding.
        tools: By name, the tools as they are, with the operator's word on them.
        functions: By function, its first tool.
        originals: By source and the name in it, the names here.
    """

    def __init__(self) -> None:
        self.declared: dict[str, FunctionTool] = {}
        self.tools: dict[str, FunctionTool] = {}
        self.functions: dict[Any, FunctionTool] = {}
        self.originals: dict[tuple[str, str], tuple[str, ...]] = {}
        self._folded: dict[str, str] = {}
        self._keyed: dict[str, FunctionTool] = {}

    def put(self, tools: Iterable[FunctionTool], words: Mapping[str, Word]) -> None:
        """Put tools on the shelf, all or none; what is there already stays as it is.

        Raises:
            DuplicateToolError: a name is taken.
            ToolDefinitionError: two keyed tools would claim the same keys, or the operator's
                word cannot be meant of a tool.
        """
        fresh: dict[str, Pair] = {}
        folded: dict[str, str] = {}
        keyed: dict[str, FunctionTool] = {}
        for tool in tools:
            known = self.declared.get(tool.name) or fresh.get(tool.name, (None,))[0]
            if known is not None and same(known, tool):
                continue
            fold = tool.name.casefold()
            twin = self._folded.get(fold) or folded.get(fold)
            if twin is not None:
                raise _taken(tool, self.declared.get(twin) or fresh[twin][0])
            word = words.get(tool.name)
            effective = tool if word is None else worded(tool, word)
            _claim(effective, self._keyed, keyed)
            fresh[tool.name] = (tool, effective)
            folded[fold] = tool.name
        self._folded.update(folded)
        self._keyed.update(keyed)
        self._enter(fresh)

    def _enter(self, fresh: Mapping[str, Pair]) -> None:
        for name, (tool, effective) in fresh.items():
            self.declared[name] = tool
            self.tools[name] = effective
            if isinstance(tool.fn, Hashable):
                self.functions.setdefault(tool.fn, effective)
            original = (tool.source_id, tool.original_name)
            self.originals[original] = (*self.originals.get(original, ()), name)

    def without(self, tools: Iterable[FunctionTool]) -> list[FunctionTool]:
        """What is declared, less what the given tools would stand in for."""
        names = {self._folded.get(tool.name.casefold()): tool for tool in tools}
        return [
            known
            for name, known in self.declared.items()
            if name not in names or same(known, names[name])
        ]


def same(known: FunctionTool, tool: FunctionTool) -> bool:
    """Whether two tools of one name are one declaration, made twice."""
    return (
        known.fn == tool.fn
        and known.meta == tool.meta
        and (known.name, known.source_id) == (tool.name, tool.source_id)
    )


def owner(tool: FunctionTool) -> str:
    """Whose tool it is, for a message that has to tell two of one name apart."""
    if tool.source_id == NATIVE:
        return tool.origin
    return f"{tool.original_name} of {tool.source_id} ({tool.origin})"


def _taken(tool: FunctionTool, known: FunctionTool) -> DuplicateToolError:
    if known.name == tool.name:
        return DuplicateToolError(name=tool.name, first=owner(known), second=owner(tool))
    return DuplicateToolError(
        name=tool.name,
        first=f"{owner(known)}, as {known.name!r}",
        second=owner(tool),
        hint="Names have to differ in more than their capitals: give one of them another name.",
    )


def _claim(
    tool: FunctionTool, keyed: Mapping[str, FunctionTool], fresh: dict[str, FunctionTool]
) -> None:
    # Prefixes do not change whose keys they are (DURABILITY E1).
    if tool.meta.idempotency_key is None or tool.meta.claim_scope is not None:
        return
    scope = tool.claim_scope
    other = keyed.get(scope) or fresh.get(scope)
    if other is not None and other.fn != tool.fn:
        raise ToolDefinitionError(
            f"{tool.original_name!r} has an idempotency key, and so has the tool of that name at "
            f"{owner(other)}: they would claim the same keys.",
            where=tool.origin,
            hint="Give one of them a claim_scope=.",
        )
    fresh.setdefault(scope, other or tool)
