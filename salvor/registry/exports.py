"""A tool in the form of a protocol or a provider: MCP, Anthropic, OpenAI, strict or not.

Each form keeps to the rules its provider publishes. What a form cannot say is refused, never
rewritten; a tool's own schemas are never touched. What comes back goes through
`Exported.arguments`, and is validated against the tool's own schema like any other call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from salvor.errors import ExportRefused, JsonRefused, Problem, UnknownToolError
from salvor.registry.finished import Finished, copied
from salvor.registry.inlining import BUDGET, CannotInline, inlined
from salvor.registry.limits import beyond_limits
from salvor.registry.nearest import nearest
from salvor.registry.restoring import restored
from salvor.registry.roots import argument_root, result_root
from salvor.registry.schemas import nodes
from salvor.registry.strict import strict_form
from salvor.tools.check import SchemaCheck
from salvor.tools.contract import Effect
from salvor.tools.function import FunctionTool
from salvor.tools.wording import got
from salvor.values import JsonObject, JsonValue, as_json, pointer

Form: TypeAlias = Literal["mcp", "anthropic", "openai", "openai-strict"]
FORMS: Final[tuple[Form, ...]] = ("mcp", "anthropic", "openai", "openai-strict")

_mcp_name = re.compile(r"[A-Za-z0-9_.-]{1,128}").fullmatch
_provider_name = re.compile(r"[a-zA-Z0-9_-]{1,64}").fullmatch
_anthropic_field = re.compile(r"[a-zA-Z0-9_.-]{1,64}").fullmatch

_NO_ROOT_UNION: Final = ("oneOf", "anyOf", "allOf")
_OPENAI_ROOT: Final = (*_NO_ROOT_UNION, "enum", "not")
_HINTS: Final[dict[Effect, JsonObject]] = {
    "read": {"readOnlyHint": True},
    "idempotent": {"readOnlyHint": False, "idempotentHint": True},
    "write": {"readOnlyHint": False, "idempotentHint": False},
}


class Described(Protocol):
    """What an export needs of a tool, of whatever source; what it says does not change."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def input_schema(self) -> JsonObject: ...
    @property
    def output_schema(self) -> JsonObject | None: ...


class Exported(NamedTuple):
    """One tool in one form.

    Attributes:
        tool: The tool.
        form: Which form it is.
        name: The name in that form.
        definition: What the provider is sent.
        wrapped: Whether results go into an object under ``result``, as MCP wants an object.
    """

    tool: Described
    form: Form
    name: str
    definition: JsonObject
    wrapped: bool = False

    def arguments(self, given: JsonObject) -> JsonObject:
        """The tool's own arguments of those that came in this form; not validated yet.

        Raises:
            ArgumentsRefused: a null of the strict form could mean two things.
        """
        if self.form != "openai-strict":
            return given
        return restored(self.tool.input_schema, given, tool=self.tool.name)

    def result(self, value: JsonValue) -> JsonValue:
        """A result of the tool as this form has it."""
        return {"result": value} if self.wrapped else value


def to_mcp(tool: Described, *, inline: bool = False, budget: int = BUDGET) -> Exported:
    """The tool as an MCP server lists it.

    Results that are no objects are wrapped in one under ``result``, the custom of MCP servers.

    Args:
        tool: The tool.
        inline: Replace references by what they point at.
        budget: How many schemas inlining may make.

    Raises:
        ExportRefused: with every place that the form cannot express.
    """
    return _made(_way("mcp", inline, budget), tool)


def _mcp(draft: _Draft, tool: Described) -> JsonObject:
    draft.check_name(_mcp_name, "1 to 128 letters, digits, '_', '-' or '.'")
    definition: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": draft.arguments(),
        "annotations": dict(_HINTS[tool.effect]),
    }
    output = draft.results()
    if output is not None:
        definition["outputSchema"] = output
    return definition


def to_anthropic(tool: Described, *, inline: bool = False, budget: int = BUDGET) -> Exported:
    """The tool as Anthropic's Messages API takes it.

    Args:
        tool: The tool.
        inline: Replace references by what they point at.
        budget: How many schemas inlining may make.

    Raises:
        ExportRefused: with every place that the form cannot express.
    """
    return _made(_way("anthropic", inline, budget), tool)


def _anthropic(draft: _Draft, tool: Described) -> JsonObject:
    draft.check_name(_provider_name, "1 to 64 letters, digits, '_' or '-'")
    schema = draft.arguments()
    draft.check_root(schema, _NO_ROOT_UNION)
    fields = schema.get("properties")
    for name in fields if isinstance(fields, dict) else ():
        if _anthropic_field(name) is None:
            what = "a field of 1 to 64 letters, digits, '_', '-' or '.'"
            draft.refuse(pointer("/properties", name), what, got(name))
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def to_openai(
    tool: Described,
    *,
    strict: bool = False,
    chat: bool = False,
    inline: bool = False,
    budget: int = BUDGET,
) -> Exported:
    """The tool as a function of OpenAI's Responses API, or of Chat Completions.

    Args:
        tool: The tool.
        strict: In strict mode, in which the provider holds the model to the schema.
        chat: For Chat Completions, which puts the function one level deeper.
        inline: Replace references by what they point at.
        budget: How many schemas inlining may make.

    Raises:
        ExportRefused: with every place that the form cannot express.
    """
    way = _way("openai-strict" if strict else "openai", inline, budget, chat)
    return _made(way, tool)


def _openai(draft: _Draft, tool: Described) -> JsonObject:
    draft.check_name(_provider_name, "1 to 64 letters, digits, '_' or '-'")
    schema = draft.arguments()
    draft.check_root(schema, _OPENAI_ROOT)
    strict = draft.way.form == "openai-strict"
    schema = draft.strict(schema) if strict else _with_items(schema)
    function: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": schema,
        "strict": strict,
    }
    if draft.way.chat:
        return {"type": "function", "function": function}
    return {"type": "function", **function}


def to_form(tool: Described, form: Form, *, inline: bool = False) -> Exported:
    """The tool in the form of that name.

    Raises:
        ExportRefused: with every place that the form cannot express.
    """
    return _made(_way(form, inline), tool)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Catalogue:
    """The tools that one form can express, and the refusals of the others.

    Attributes:
        exported: The tools, by name.
        left_out: Why each of the others is not among them, by name.
    """

    exported: tuple[Exported, ...]
    left_out: tuple[ExportRefused, ...]
    _names: Mapping[str, Exported]

    @property
    def definitions(self) -> list[JsonObject]:
        """What the provider is sent."""
        return [one.definition for one in self.exported]

    def get(self, name: str) -> Exported:
        """The tool that a provider calls by this name.

        Raises:
            UnknownToolError: it was not sent, or left out.
        """
        try:
            return self._names[name]
        except KeyError:
            near = nearest(name, [one.name for one in self.exported])
            raise UnknownToolError(name=name, nearest=near) from None


def catalogue(tools: Iterable[Described], form: Callable[[Described], Exported]) -> Catalogue:
    """Every tool in one form; one that the form cannot express takes no other one down.

    Args:
        tools: The tools, as a registry gives them.
        form: `to_mcp`, `to_anthropic`, `to_openai`, or one of them with options.
    """
    exported: list[Exported] = []
    left_out: list[ExportRefused] = []
    for tool in sorted(tools, key=lambda one: one.name):
        try:
            exported.append(form(tool))
        except ExportRefused as refusal:
            left_out.append(refusal)
    return Catalogue(
        exported=tuple(exported),
        left_out=tuple(left_out),
        _names={one.name: one for one in reversed(exported)},
    )


class _Way(NamedTuple):
    """How a definition is made: everything it depends on besides the tool."""

    form: Form
    inline: bool
    budget: int = BUDGET
    chat: bool = False


_MAKERS: Final[Mapping[Form, Callable[[_Draft, Described], JsonObject]]] = {
    "mcp": _mcp,
    "anthropic": _anthropic,
    "openai": _openai,
    "openai-strict": _openai,
}
_way: Final = lru_cache(maxsize=64)(_Way)
_finished: Final = Finished()


def _made(way: _Way, tool: Described) -> Exported:
    """The definition that was made before, or a fresh one; refusals are not kept."""
    found = _finished.get(tool, way)
    if found is None:
        draft = _Draft(tool, way)
        found = draft.finished(_MAKERS[way.form](draft, tool))
        _finished.keep(tool, way, *found)
    definition, wrapped = found
    return Exported(tool, way.form, tool.name, definition, wrapped)


class _Draft:
    """One export in the making, and what stands in its way."""

    def __init__(self, tool: Described, way: _Way) -> None:
        self.way = way
        self._tool = tool
        self._wrapped = False
        self._problems: list[Problem] = []

    def arguments(self) -> JsonObject:
        # A function's own was compiled when it became a tool.
        known = isinstance(self._tool, FunctionTool)
        return self._checked(argument_root(self._usable(self._tool.input_schema, known)))

    def results(self) -> JsonObject | None:
        schema = self._tool.output_schema
        if schema is None:
            return None
        made, self._wrapped = result_root(self._usable(schema))
        return self._checked(made)

    def strict(self, schema: JsonObject) -> JsonObject:
        made, problems = strict_form(schema)
        self._problems += problems or beyond_limits(made)
        return made

    def check_name(self, fits: Callable[[str], object], takes: str) -> None:
        if not fits(self._tool.name):
            self.refuse("", f"a name of {takes}", got(self._tool.name))
        if not self._tool.description.strip():
            self.refuse("", "a description", "none")

    def check_root(self, schema: JsonObject, refused: Iterable[str]) -> None:
        if schema.get("type") != "object":
            self.refuse("/type", "an object", got(schema.get("type")))
        for key in refused:
            if key in schema:
                self.refuse(pointer("", key), f"no {key} at the top level", "it")

    def refuse(self, at: str, expected: str, came: str) -> None:
        self._problems.append(Problem(pointer=at, expected=expected, got=came))

    def finished(self, definition: JsonObject) -> tuple[JsonObject, bool]:
        """A definition that shares nothing with the tool, and whether results are wrapped."""
        if self._problems:
            raise self._refusal()
        return copied(definition), self._wrapped

    def _usable(self, schema: JsonObject, known: bool = False) -> JsonObject:
        """A schema that is one, without references if that was asked for; not to be changed."""
        try:
            as_json(schema, what="the schema")
            if not known:
                SchemaCheck(schema)
            return inlined(schema, self.way.budget) if self.way.inline else schema
        except JsonRefused as error:
            self.refuse("", "a JSON Schema that can be used", error.message)
        except CannotInline as error:
            self._problems.append(error.problem)
        raise self._refusal()

    def _checked(self, schema: JsonObject | Problem) -> JsonObject:
        if isinstance(schema, Problem):
            self._problems.append(schema)
            raise self._refusal()
        return schema

    def _refusal(self) -> ExportRefused:
        hint = "Export it without strict=True." if self.way.form == "openai-strict" else None
        return ExportRefused(
            tool=self._tool.name, form=self.way.form, problems=self._problems, hint=hint
        )


def _with_items(schema: JsonObject) -> JsonObject:
    # OpenAI refuses arrays and top-level objects that leave out what means nothing when empty.
    made = copied(schema)
    made.setdefault("properties", {})
    for node, _ in nodes(made):
        kinds = node.get("type")
        if "array" in (kinds if isinstance(kinds, list) else [kinds]):
            node.setdefault("items", {})
    return made
