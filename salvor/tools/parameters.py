"""A function's parameters, sorted by who fills them: the caller, salvor, a dependency."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic.fields import FieldInfo

from salvor.errors import ToolDefinitionError
from salvor.tools.annotations import check_crossing, dependency_in, is_context, resolve
from salvor.tools.contract import place_of
from salvor.tools.decorator import unannotated, variadic
from salvor.tools.injection import Dependency, Undelivered, dependency_of

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
        return self.default is not EMPTY and not isinstance(self.default, FieldInfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a function takes: arguments, the context, and dependencies."""

    arguments: tuple[Parameter, ...]
    contexts: tuple[str, ...]
    dependencies: Mapping[str, Dependency]
    positional_only: tuple[tuple[str, Any], ...]


def located_error(error: ToolDefinitionError, function: Any) -> ToolDefinitionError:
    """The same refusal, saying where the function stands."""
    return ToolDefinitionError(
        error.reason,
        where=error.where or place_of(function),
        parameter=error.parameter,
        hint=error.hint,
    )


def read_signature(
    function: Any, signature: inspect.Signature, *, skip_first: bool = False
) -> Parameters:
    """Sort a function's parameters by who fills them.

    Raises:
        ToolDefinitionError: naming the parameter.
    """
    found = list(signature.parameters.values())[1 if skip_first else 0 :]
    arguments: list[Parameter] = []
    contexts: list[str] = []
    dependencies: dict[str, Dependency] = {}
    for parameter in found:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise variadic(parameter.name, several=parameter.kind is parameter.VAR_POSITIONAL)
        dependency, annotation = _filled_by(parameter, function)
        if dependency is not None:
            dependencies[parameter.name] = dependency
        elif is_context(annotation):
            contexts.append(parameter.name)
        else:
            arguments.append(_argument(parameter, annotation))
    return Parameters(
        arguments=tuple(arguments),
        contexts=tuple(contexts),
        dependencies=dependencies,
        positional_only=tuple(
            (parameter.name, parameter.default)
            for parameter in found
            if parameter.kind is parameter.POSITIONAL_ONLY
        ),
    )


def _filled_by(parameter: inspect.Parameter, function: Any) -> tuple[Dependency | None, Any]:
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


def _argument(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    if isinstance(parameter.default, Undelivered):
        raise ToolDefinitionError(
            "INJECTED is the default of a Context parameter only.",
            parameter=parameter.name,
            hint=f"Annotate it: {parameter.name}: Context = INJECTED.",
        )
    naming(parameter.name, lambda: check_crossing(annotation))
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
