"""A function's parameters, sorted by who fills them: the caller, salvor, a dependency."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from salvor.errors import ToolDefinitionError
from salvor.tools.annotations import (
    check_crossing,
    dependency_in,
    is_context,
    local_names,
    resolve,
)
from salvor.tools.contract import inside
from salvor.tools.decorator import unannotated, variadic
from salvor.tools.injection import Dependency, Undelivered, dependency_of
from salvor.tools.unpacked import Entry, entries, unpacked

EMPTY: Final = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter that a caller fills."""

    name: str
    kind: inspect._ParameterKind
    annotation: Any
    default: Any

    @property
    def has_default(self) -> bool:
        """Whether the function itself supplies a value when none is passed."""
        return self.default is not EMPTY and not is_field(self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a function takes: arguments, the context, and dependencies.

    ``names`` is what the texts of annotations may mean, besides what their modules hold.
    """

    arguments: tuple[Parameter, ...]
    contexts: tuple[str, ...]
    dependencies: Mapping[str, Dependency]
    positional_only: tuple[tuple[str, Any], ...]
    names: Mapping[str, Any]

    @property
    def all_names(self) -> tuple[str, ...]:
        """Every parameter, whoever fills it."""
        arguments = (argument.name for argument in self.arguments)
        return (*arguments, *self.contexts, *self.dependencies)


def is_field(default: Any) -> bool:
    """Whether a default is a ``Field(...)``, which states one instead of being one."""
    if default is None or isinstance(default, str | int | float):
        return False
    from pydantic.fields import FieldInfo

    return isinstance(default, FieldInfo)


def read_signature(
    function: Any, signature: inspect.Signature, *, skip_first: bool = False
) -> Parameters:
    """Sort a function's parameters by who fills them.

    Raises:
        ToolDefinitionError: naming the parameter.
    """
    fixed = _bound_by_name(function)
    found = [
        parameter
        for parameter in list(signature.parameters.values())[1 if skip_first else 0 :]
        if parameter.name not in fixed or parameter.kind is parameter.POSITIONAL_ONLY
    ]
    names = local_names(function)
    _check_bound(found, function)
    arguments: list[Parameter] = []
    contexts: list[str] = []
    dependencies: dict[str, Dependency] = {}
    for parameter in _spread(found, function, fixed):
        dependency, annotation = _filled_by(parameter, function)
        if dependency is not None:
            dependencies[parameter.name] = dependency
        elif is_context(annotation):
            contexts.append(parameter.name)
        else:
            arguments.append(_argument(parameter, annotation, names))
    return Parameters(
        arguments=tuple(arguments),
        contexts=tuple(contexts),
        dependencies=dependencies,
        positional_only=tuple(
            (parameter.name, parameter.default)
            for parameter in found
            if parameter.kind is parameter.POSITIONAL_ONLY
        ),
        names=names,
    )


def _bound_by_name(function: Any) -> set[str]:
    """What partials bind by name: it is settled, and no caller's to say."""
    partials = (step for step in inside(function) if isinstance(step, partial))
    return {name for step in partials for name in step.keywords}


def _check_bound(found: list[inspect.Parameter], function: Any) -> None:
    """Refuse a method that still waits for its object, also where that is annotated."""
    name = getattr(function, "__qualname__", "")
    owner = name.rpartition(".")[0]
    if (
        found
        and found[0].name in ("self", "cls")
        and inspect.isfunction(function)
        and owner
        and not owner.endswith("<locals>")
    ):
        raise unannotated(found[0].name)


def _spread(
    found: list[inspect.Parameter], function: Any, fixed: Collection[str]
) -> Iterator[inspect.Parameter | Entry]:
    """The parameters, with ``**options: Unpack[Options]`` as one for each of its keys."""
    taken = {parameter.name for parameter in found}
    for parameter in found:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise variadic(parameter.name, several=True)
        if parameter.kind is not parameter.VAR_KEYWORD:
            yield parameter
            continue
        for entry in naming(parameter.name, partial(_entries_of, parameter, function)):
            if entry.name in fixed:
                continue
            if entry.name in taken:
                raise ToolDefinitionError(
                    f"its key {entry.name!r} is the name of another parameter.",
                    parameter=parameter.name,
                    hint="Rename one of the two.",
                )
            yield entry


def _entries_of(parameter: inspect.Parameter, function: Any) -> list[Entry]:
    options = unpacked(parameter.annotation, function)
    if options is None:
        raise variadic(parameter.name, several=False)
    return list(entries(options, function))


def _filled_by(
    parameter: inspect.Parameter | Entry, function: Any
) -> tuple[Dependency | None, Any]:
    dependency = dependency_of(parameter.default)
    if dependency is not None:
        _check_dependency(parameter.name, dependency)
        return dependency, None
    if parameter.annotation is EMPTY:
        raise unannotated(parameter.name)
    annotation = naming(parameter.name, lambda: resolve(parameter.annotation, function))
    dependency = dependency_in(annotation)
    if dependency is not None:
        _check_dependency(parameter.name, dependency)
    return dependency, annotation


def _argument(
    parameter: inspect.Parameter | Entry, annotation: Any, names: Mapping[str, Any]
) -> Parameter:
    if isinstance(parameter.default, Undelivered):
        raise ToolDefinitionError(
            "INJECTED is the default of a Context parameter only.",
            parameter=parameter.name,
            hint=f"Annotate it: {parameter.name}: Context = INJECTED.",
        )
    naming(parameter.name, lambda: check_crossing(annotation, names))
    return Parameter(
        name=parameter.name,
        kind=parameter.kind,
        annotation=annotation,
        default=parameter.default,
    )


def _check_dependency(name: str, dependency: Dependency) -> None:
    try:
        taken = inspect.signature(dependency.dependency).parameters.values()
    except (TypeError, ValueError):
        return
    for parameter in taken:
        if parameter.default is EMPTY and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ToolDefinitionError(
                f"its dependency takes {parameter.name!r}, and nobody fills that.",
                parameter=name,
                hint="A dependency takes nothing; Context.current() works inside it.",
            )


def naming(name: str, read: Callable[[], Any]) -> Any:
    """Do something for one parameter; a refusal then names it."""
    try:
        return read()
    except ToolDefinitionError as error:
        raise ToolDefinitionError(error.reason, parameter=name, hint=error.hint) from None
