"""The tools there are, each under one name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

from salvor.errors import (
    ConfigError,
    ToolDefinitionError,
    UnknownToolError,
)
from salvor.registry.collecting import functions_of, original_name
from salvor.registry.naming import ALL, Naming, Selection
from salvor.registry.operators import Difference, Word, differences, worded
from salvor.registry.shelf import Shelf
from salvor.tools.contract import ApprovalDeclaration, Effect, KeyDeclaration, Retry, place_of
from salvor.tools.decorator import make_meta, tool_meta
from salvor.tools.function import FunctionTool, function_tool
from salvor.tools.verification import Verify
from salvor.values import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a tool comes from.

    Attributes:
        source_id: The source it belongs to; ``native`` for functions of this process.
        original_name: What that source calls it.
        origin: Where it stands there, such as ``path/file.py:12 pay_claim``.
    """

    source_id: str
    original_name: str
    origin: str


class Registry:
    """Tools by name; looking one up does not depend on how many there are."""

    def __init__(self) -> None:
        self._words: dict[str, Word] = {}
        self._shelf = Shelf()
        self._sorted: tuple[FunctionTool, ...] | None = None

    def add(
        self,
        source: Any,
        prefix: str = "",
        *,
        naming: Naming | None = None,
        selection: Selection = ALL,
        replace: bool = False,
    ) -> list[FunctionTool]:
        """Add what carries `@tool`.

        Args:
            source: A function; a module, which gives the functions it defines itself; or an
                object, which gives its methods.
            prefix: Put before every name.
            naming: Prefix and new names, instead of a prefix alone.
            selection: Which of its tools are taken; the others are not even looked at.
            replace: Let a tool whose name is taken stand in for the one that has it.

        Returns:
            The tools, those that were there already included. All are added or none.

        Raises:
            ToolDefinitionError: a function cannot be a tool as it is declared, or a selection
                or a new name is meant for a tool that is not there.
            DuplicateToolError: a name is taken.
        """
        if naming is not None and prefix:
            raise ToolDefinitionError("add takes a prefix or a naming, got both.")
        functions = functions_of(source)
        names = Naming(prefix=prefix) if naming is None else naming
        if selection is not ALL or names.rename:
            taken = selection.of(map(original_name, functions))
            names.finals(taken, source=getattr(source, "__name__", None) or repr(source))
            functions = [one for one in functions if selection.takes(original_name(one))]
        tools = [_named(function, names) for function in functions]
        return self.merge(tools, replace=replace)

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
        exceptions: Literal["failed", "unknown"] | None = None,
        timeout: float | None = None,
        approval: ApprovalDeclaration = False,
        verify: Verify | None = None,
        inline: bool = False,
        tags: Sequence[str] = (),
        replace: bool = False,
    ) -> FunctionTool:
        """Add a function that is not decorated, as code one does not own.

        The options are those of `@tool`, and ``replace`` is that of `add`.

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
            timeout=timeout,
            approval=approval,
            verify=verify,
            inline=inline,
            tags=tags,
        )
        return self.merge([function_tool(function, meta=meta)], replace=replace)[0]

    def merge(self, tools: Iterable[FunctionTool], *, replace: bool = False) -> list[FunctionTool]:
        """Add tools that were made elsewhere, all or none of them.

        Args:
            tools: The tools, as their source declares them.
            replace: Let one whose name is taken stand in for the tool that has it.

        Raises:
            DuplicateToolError: a name is taken; nothing was added.
            ToolDefinitionError: two keyed tools would claim the same keys.
        """
        given = list(tools)
        kept = self._shelf.without(given) if replace else []
        if replace and len(kept) < len(self):
            self._shelf = _shelf_of([*kept, *given], self._words)
        else:
            self._shelf.put(given, self._words)
        self._sorted = None
        return [self._shelf.tools[tool.name] for tool in given]

    def operate(self, words: Mapping[str, Word], *, source: str = "the operator's table") -> None:
        """Take the operator's word on tools, also on those that are added later.

        Args:
            words: By the names that tools have here.
            source: The file they come from, for messages.

        Raises:
            ConfigError: with every name that no tool has, and every word that cannot be meant;
                nothing was changed.
        """
        faults = [fault for name, word in words.items() if (fault := self._fault(name, word))]
        if faults:
            raise ConfigError(source=source, faults=faults)
        both = {**self._words, **words}
        try:
            self._shelf = _shelf_of(self._shelf.declared.values(), both)
        except ToolDefinitionError as error:
            raise ConfigError(source=source, faults=[str(error)]) from None
        self._words = both
        self._sorted = None

    def _fault(self, name: str, word: Word) -> str | None:
        at = f'{word.place}[tools."{name}"]'
        declared = self._shelf.declared.get(name)
        if declared is None:
            from salvor.registry.nearest import did_you_mean  # which only a refusal needs

            near = did_you_mean(name, self._shelf.declared) or _MISSING
            return f"{at}: there is no tool of that name. {near}"
        try:
            worded(declared, word)
        except ToolDefinitionError as error:
            return f"{at}: {error}"
        return None

    def get(self, name: str) -> FunctionTool:
        """The tool of that name.

        Raises:
            UnknownToolError: with the nearest spellings.
        """
        try:
            return self._shelf.tools[name]
        except KeyError:
            from salvor.registry.nearest import nearest  # which only a refusal needs

            near = nearest(name, self._shelf.tools)
            raise UnknownToolError(name=name, nearest=near) from None

    def for_function(self, function: Any) -> FunctionTool:
        """The tool of a decorated function, which is added when nobody did before.

        Raises:
            ToolDefinitionError: it is not decorated, or cannot be a tool.
            DuplicateToolError: another function has its name.
        """
        try:
            return self._shelf.functions[function]
        except (KeyError, TypeError):
            pass
        if tool_meta(function) is None:
            raise ToolDefinitionError(
                "it is not a tool.",
                where=place_of(function),
                hint="Decorate it with @tool(effect=...), or add it with registry.add_function().",
            )
        return self.merge([function_tool(function)])[0]

    def of_source(self, source_id: str, original_name: str) -> tuple[FunctionTool, ...]:
        """The tools here that a source's own name stands for, in the order they were added."""
        names = self._shelf.originals.get((source_id, original_name), ())
        return tuple(self._shelf.tools[name] for name in names)

    def provenance(self, name: str) -> Provenance:
        """Where a tool comes from.

        Raises:
            UnknownToolError: with the nearest spellings.
        """
        tool = self.get(name)
        return Provenance(
            source_id=tool.source_id, original_name=tool.original_name, origin=tool.origin
        )

    def differences(self, name: str) -> tuple[Difference, ...]:
        """Where the operator's word on a tool differs from what its source declares.

        Raises:
            UnknownToolError: with the nearest spellings.
        """
        effective = self.get(name)
        return differences(self._shelf.declared[name], effective)

    def describe(self) -> list[JsonObject]:
        """What each tool is, by name: for people, prompts and catalogues.

        Each has ``name``, ``description``, ``effect``, ``input_schema``, and ``output_schema``
        where a return type is declared. They are copies: changing one changes no tool.
        """
        return [_described(tool) for tool in self.tools()]

    def tools(self) -> tuple[FunctionTool, ...]:
        """All tools, by name."""
        if self._sorted is None:
            by_name = self._shelf.tools
            self._sorted = tuple(by_name[name] for name in sorted(by_name))
        return self._sorted

    def __len__(self) -> int:
        return len(self._shelf.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._shelf.tools

    def __iter__(self) -> Iterator[FunctionTool]:
        return iter(self.tools())


_MISSING = "A tool that is loaded with a run has to be in [tools] modules to be named."


def _shelf_of(tools: Iterable[FunctionTool], words: Mapping[str, Word]) -> Shelf:
    made = Shelf()
    made.put(tools, words)
    return made


def _named(function: Any, names: Naming) -> FunctionTool:
    original = original_name(function)
    if original in names.rename or names.adapt:
        return function_tool(function, name=names.final(original))
    return function_tool(function, prefix=names.prefix)


def _described(tool: FunctionTool) -> JsonObject:
    found: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "effect": tool.effect,
        "input_schema": deepcopy(tool.input_schema),
    }
    if tool.output_schema is not None:
        found["output_schema"] = deepcopy(tool.output_schema)
    return found
