"""The tools there are, each under one name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from types import FunctionType, MethodType, ModuleType
from typing import Any, Literal

from salvor.errors import DuplicateToolError, ToolDefinitionError, UnknownToolError
from salvor.tools.contract import Effect, KeyDeclaration, Retry, place_of
from salvor.tools.decorator import make_meta, tool_meta
from salvor.tools.function import FunctionTool, function_tool


class Registry:
    """Tools by name; looking one up does not depend on how many there are."""

    def __init__(self) -> None:
        self._tools: dict[str, FunctionTool] = {}
        self._functions: dict[Any, FunctionTool] = {}
        self._keyed: dict[str, FunctionTool] = {}
        self._sorted: tuple[FunctionTool, ...] | None = ()

    def add(self, source: Any, prefix: str = "") -> list[FunctionTool]:
        """Add what carries `@tool`.

        Args:
            source: A function; a module, which gives the functions it defines itself; or an
                object, which gives its methods.
            prefix: Put before every name.

        Returns:
            The tools, those that were there already included. All are added or none.

        Raises:
            ToolDefinitionError: a function cannot be a tool as it is declared.
            DuplicateToolError: a name is taken.
        """
        functions = _functions_of(source)
        tools = [function_tool(function, prefix=prefix) for function in functions]
        return self.merge(tools)

    def add_function(
        self,
        function: Any,
        *,
        effect: Effect,
        name: str | None = None,
        description: str | None = None,
        idempotency_key: KeyDeclaration | None = None,
        claim_scope: str | None = None,
        retry: Retry | None = None,
        refusals: Sequence[type[Exception]] = (),
        exceptions: Literal["failed"] | None = None,
        tags: Sequence[str] = (),
    ) -> FunctionTool:
        """Add a function that is not decorated, as code one does not own.

        The options are those of `@tool`.

        Raises:
            ToolDefinitionError: it cannot be a tool as it is declared.
            DuplicateToolError: the name is taken.
        """
        meta = make_meta(
            effect=effect,
            name=name,
            description=description,
            idempotency_key=idempotency_key,
            claim_scope=claim_scope,
            retry=retry,
            refusals=refusals,
            exceptions=exceptions,
            tags=tags,
        )
        return self.merge([function_tool(function, meta=meta)])[0]

    def merge(self, tools: Iterable[FunctionTool]) -> list[FunctionTool]:
        """Add tools that were made elsewhere, all or none of them.

        Raises:
            DuplicateToolError: a name is taken; nothing was added.
            ToolDefinitionError: two keyed tools would claim the same keys.
        """
        fresh: dict[str, FunctionTool] = {}
        keyed: dict[str, FunctionTool] = {}
        found: list[FunctionTool] = []
        for tool in tools:
            known = self._tools.get(tool.name) or fresh.get(tool.name)
            if known is not None and known.fn == tool.fn and known.meta == tool.meta:
                found.append(known)
                continue
            if known is not None:
                raise DuplicateToolError(name=tool.name, first=known.origin, second=tool.origin)
            if _claims_by_name(tool):
                _check_keyed(
                    tool, self._keyed.get(tool.original_name) or keyed.get(tool.original_name)
                )
                keyed[tool.original_name] = tool
            fresh[tool.name] = tool
            found.append(tool)
        self._enter(fresh, keyed)
        return found

    def get(self, name: str) -> FunctionTool:
        """The tool of that name.

        Raises:
            UnknownToolError: with the nearest spellings.
        """
        try:
            return self._tools[name]
        except KeyError:
            nearest = get_close_matches(name, self._tools, n=2)
            raise UnknownToolError(name=name, nearest=nearest) from None

    def for_function(self, function: Any) -> FunctionTool:
        """The tool of a decorated function, which is added when nobody did before.

        Raises:
            ToolDefinitionError: it is not decorated, or cannot be a tool.
            DuplicateToolError: another function has its name.
        """
        try:
            return self._functions[function]
        except (KeyError, TypeError):
            pass
        if tool_meta(function) is None:
            raise ToolDefinitionError(
                "it is not a tool.",
                where=place_of(function),
                hint="Decorate it with @tool(effect=...), or add it with registry.add_function().",
            )
        return self.merge([function_tool(function)])[0]

    def tools(self) -> tuple[FunctionTool, ...]:
        """All tools, by name."""
        if self._sorted is None:
            self._sorted = tuple(self._tools[name] for name in sorted(self._tools))
        return self._sorted

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[FunctionTool]:
        return iter(self.tools())

    def _enter(self, fresh: dict[str, FunctionTool], keyed: dict[str, FunctionTool]) -> None:
        self._tools.update(fresh)
        for name, tool in keyed.items():
            self._keyed.setdefault(name, tool)
        for tool in fresh.values():
            self._functions.setdefault(tool.fn, tool)
        if fresh:
            self._sorted = None


def _claims_by_name(tool: FunctionTool) -> bool:
    return tool.meta.idempotency_key is not None and tool.meta.claim_scope is None


def _check_keyed(tool: FunctionTool, other: FunctionTool | None) -> None:
    # Prefixes do not change whose keys they are (DURABILITY E1).
    if other is not None and other.fn != tool.fn:
        raise ToolDefinitionError(
            f"{tool.original_name!r} has an idempotency key, and so has the tool of that name at "
            f"{other.origin}: they would claim the same keys.",
            where=tool.origin,
            hint="Give one of them a claim_scope=.",
        )


def _functions_of(source: Any) -> list[Any]:
    if isinstance(source, ModuleType):
        return _of_module(source)
    if isinstance(source, FunctionType | MethodType):
        return [source]
    if isinstance(source, type) or tool_meta(source) is not None or callable(source):
        what = f"the class {source.__qualname__}" if isinstance(source, type) else repr(source)
        raise ToolDefinitionError(
            f"add takes a function, a module or an object with methods, got {what}.",
            hint="Add an instance: registry.add(TheClass())." if isinstance(source, type) else None,
        )
    return _of_instance(source)


def _of_module(module: ModuleType) -> list[Any]:
    found = {
        id(value): value
        for _, value in sorted(vars(module).items())
        if isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and tool_meta(value) is not None
    }
    return list(found.values())


def _of_instance(instance: Any) -> list[Any]:
    names = [
        name
        for name in dir(type(instance))
        if tool_meta(inspect.getattr_static(type(instance), name, None)) is not None
    ]
    if not names:
        raise ToolDefinitionError(
            f"a {type(instance).__qualname__} has no method that carries @tool.",
            hint="Decorate its methods with @tool(effect=...).",
        )
    return [getattr(instance, name) for name in names]
