"""A function as a tool: its schemas, its arguments, its result, its key."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from salvor.errors import ToolDefinitionError
from salvor.tools.arguments import InputModel, Prepared
from salvor.tools.contract import (
    Effect,
    ToolMeta,
    check_meta,
    check_name,
    inside,
    located_error,
    place_of,
    unwrap,
)
from salvor.tools.decorator import check_function, check_key_parameter, tool_meta
from salvor.tools.idempotency import check_path, declaration_of, key_of
from salvor.tools.injection import Dependency
from salvor.tools.schema import ValueType
from salvor.values import JsonObject, JsonValue, content_hash

NATIVE = "native"


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True, eq=False, repr=False)
class FunctionTool:
    """A tool that is a Python function of this process.

    Attributes:
        name: The name it is called by.
        description: What it does, for a model.
        meta: What its author declared.
        fn: The function, untouched.
        is_async: Whether calling it gives a coroutine.
        origin: Where it stands: ``path/file.py:12 pay_claim``.
        module: The module it comes from.
        original_name: Its name before any prefix or renaming.
        source_id: The source it belongs to, always ``native``.
        input: The model of its arguments.
        output: Its return type.
        dependencies: By parameter, what is opened for each execution.
        lint: What its author may have meant otherwise, one sentence each.
    """

    name: str
    description: str
    meta: ToolMeta
    fn: Any
    is_async: bool
    origin: str
    module: str
    original_name: str
    input: InputModel
    output: ValueType
    dependencies: Mapping[str, Dependency]
    lint: tuple[str, ...] = ()
    source_id: str = NATIVE
    _contexts: tuple[str, ...] = ()
    _wires: Mapping[str, str] = field(default_factory=dict)
    _digest: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<FunctionTool {self.name} ({self.effect}) of {self.origin}>"

    @property
    def effect(self) -> Effect:
        """What a call does to the world."""
        return self.meta.effect

    @property
    def input_schema(self) -> JsonObject:
        """JSON Schema of the arguments (draft 2020-12)."""
        return self.input.schema

    @property
    def output_schema(self) -> JsonObject | None:
        """JSON Schema of the result; `None` when no return type is declared."""
        return self.output.schema

    @property
    def claim_scope(self) -> str:
        """The name under which its keys are claimed (DURABILITY E1)."""
        return self.meta.claim_scope or f"{self.source_id}/{self.original_name}"

    @property
    def digest(self) -> str:
        """The identity of its definition (DURABILITY B5)."""
        if not self._digest:
            self._digest.append(
                content_hash(
                    {
                        "source": self.source_id,
                        "name": self.original_name,
                        "effect": self.effect,
                        "input_schema": self.input_schema,
                        "output_schema": self.output_schema,
                        "key": declaration_of(self.meta),
                    }
                )
            )
        return self._digest[0]

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> JsonObject:
        """The JSON arguments of a direct call with Python values.

        Raises:
            JsonRefused: a value has no JSON form.
            ArgumentsRefused: too many positional arguments, or one given twice.
        """
        return self.input.bind(args, kwargs)

    def prepare(self, raw: JsonObject) -> Prepared:
        """Validate, repair and check arguments.

        Raises:
            ArgumentsRefused: with all problems.
        """
        return self.input.prepare(raw, tool=self.name)

    def prepare_text(self, text: str | bytes) -> Prepared:
        """`prepare` for arguments that came as JSON text, which is parsed strictly.

        Raises:
            ArgumentsRefused: with all problems.
            JsonRefused: what came is no strict JSON object.
        """
        return self.input.prepare_text(text, tool=self.name)

    def arguments(
        self, values: Mapping[str, Any], context: object, resolved: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """How to call the function: with prepared values, its context, its dependencies."""
        if not self._contexts and not resolved:
            return self.input.arguments(values)
        return self.input.arguments(values, {**resolved, **dict.fromkeys(self._contexts, context)})

    def encode_output(self, value: Any) -> JsonValue:
        """The result as JSON, checked against the declared type.

        Raises:
            OutputRefused: when it does not fit.
        """
        return self.output.encode(value)

    def write_output(self, value: Any) -> tuple[JsonValue, str]:
        """`encode_output`, and the canonical text of what it gives.

        Raises:
            OutputRefused: when it does not fit.
        """
        return self.output.write(value)

    def decode_output(self, value: JsonValue) -> Any:
        """The typed result of recorded JSON.

        Raises:
            OutputRefused: when today's type does not accept it.
        """
        return self.output.decode(value)

    def key(self, arguments: JsonObject) -> str | None:
        """The canonical text of a call's declared key; `None` when none is declared.

        Raises:
            ArgumentsRefused: naming path, place and the keys that are there.
        """
        return key_of(self.meta, arguments, tool=self.name, wires=self._wires)


def function_tool(
    fn: Any, *, meta: ToolMeta | None = None, name: str | None = None, prefix: str = ""
) -> FunctionTool:
    """Make a tool of a function.

    Args:
        fn: A function, a method that is bound, a partial or a callable object.
        meta: What it declares, when it is not decorated.
        name: The name to call it by, instead of its own.
        prefix: Put before the name.

    Raises:
        ToolDefinitionError: naming file, line, function, parameter and what to do.
    """
    meta = meta or tool_meta(fn)
    if meta is None:
        raise ToolDefinitionError(
            "it does not say what it does to the world.",
            where=place_of(fn),
            hint="Decorate it with @tool(effect=...), or use registry.add_function().",
        )
    try:
        return _built(fn, meta, name, prefix)
    except ToolDefinitionError as error:
        raise located_error(error, fn) from None


def _built(fn: Any, meta: ToolMeta, name: str | None, prefix: str) -> FunctionTool:
    # What only a first tool needs is loaded by it.
    from salvor.tools.annotations import signature_of
    from salvor.tools.docstring import documentation_of, read_docstring
    from salvor.tools.model import build_model
    from salvor.tools.parameters import read_signature

    _check_kind(fn)
    signature = signature_of(fn)
    check_meta(meta)
    if isinstance(fn, FunctionType):
        check_function(fn, meta)
    original = _original_name(fn, meta, name)
    final = f"{prefix}{name or original}"
    check_name(final)
    parameters = read_signature(fn, signature)
    text = read_docstring(documentation_of(fn), parameters.all_names)
    description = (meta.description or text.description).strip()
    if not description:
        raise ToolDefinitionError(
            "a tool needs a description, and there is neither a docstring nor description=.",
            hint="Write a docstring that says what the tool does.",
        )
    model = build_model(parameters, text.parameters, original)
    wires = {argument.name: argument.wire for argument in model.parameters}
    _check_keys(meta, model, wires)
    return FunctionTool(
        name=final,
        description=description,
        meta=meta,
        fn=fn,
        is_async=inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(_call_of(fn)),
        origin=place_of(fn),
        module=getattr(fn, "__module__", None) or "",
        original_name=original,
        input=model,
        output=ValueType.of_return(fn, where=final, signature=signature),
        dependencies=parameters.dependencies,
        lint=_stale(text.parameters, fn, parameters.all_names),
        _contexts=parameters.contexts,
        _wires=wires,
    )


def _check_kind(fn: Any) -> None:
    stated = unwrap(fn)
    if isinstance(fn, type) or not (
        isinstance(stated, FunctionType | MethodType)
        or (callable(stated) and "__signature__" in getattr(stated, "__dict__", {}))
    ):
        what = f"the class {fn.__qualname__}" if isinstance(fn, type) else f"a {type(fn).__name__}"
        raise ToolDefinitionError(
            f"a tool has to be a function or a bound method, got {what}.",
            hint="Wrap it in a function of your own.",
        )
    if any(
        test(one)
        for one in (fn, _call_of(fn))
        for test in (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    ):
        raise ToolDefinitionError(
            "a generator cannot be a tool: a call has one result.", hint="Return a list."
        )


def _call_of(fn: Any) -> Any:
    return None if isinstance(fn, FunctionType | MethodType) else type(fn).__call__


def _original_name(fn: Any, meta: ToolMeta, name: str | None) -> str:
    own = meta.name or getattr(fn, "__name__", None)
    found = own if own not in (None, "<lambda>") else name
    if found is None:
        what = "a lambda" if own else f"a {type(fn).__qualname__}"
        raise ToolDefinitionError(f"{what} has no name.", hint="Give it one with name=.")
    return found


def _stale(described: Iterable[str], fn: Any, names: Iterable[str]) -> tuple[str, ...]:
    """What the docstring says of parameters that are not there (any more)."""
    there = set(names)
    if there.issuperset(described):
        return ()
    there.update(_parameter_names(fn))
    return tuple(
        f"The docstring describes {name!r}, which is no parameter{_near(name, there)}."
        for name in described
        if name not in there
    )


def _parameter_names(fn: Any) -> Iterator[str]:
    for step in inside(fn):
        try:
            yield from inspect.signature(step).parameters
        except (TypeError, ValueError):
            continue


def _near(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _check_keys(meta: ToolMeta, model: InputModel, wires: Mapping[str, str]) -> None:
    required = [
        argument.name
        for argument in model.parameters
        if model.model.model_fields[argument.field].is_required()
    ]
    for path in meta.key_paths:
        check_key_parameter(path, required)
        check_path(path, model.schema, wires)
