"""Reading a function's parameters into one model of its arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Optional, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo

from salvor.errors import JsonRefused, ToolDefinitionError
from salvor.tools.annotations import (
    accepts_none,
    check_crossing,
    dependency_in,
    is_context,
    resolve,
    signature_of,
)
from salvor.tools.arguments import Argument, InputModel, Prepared
from salvor.tools.check import SchemaCheck
from salvor.tools.contract import place_of
from salvor.tools.decorator import unannotated, variadic
from salvor.tools.docstring import read_docstring
from salvor.tools.injection import Dependency, Undelivered, dependency_of
from salvor.tools.plain import to_json
from salvor.tools.problems import faults_of
from salvor.tools.schema import LEFT_OUT, adapter_of, json_schema, refused_type
from salvor.values import JsonObject, canonical_json

__all__ = ["InputModel", "Parameter", "Parameters", "Prepared", "read_parameters", "read_signature"]

_EMPTY: Final = inspect.Parameter.empty
_CONFIG: Final = ConfigDict(
    extra="forbid", val_json_bytes="base64", ser_json_bytes="base64", protected_namespaces=()
)


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
        return self.default is not _EMPTY and not isinstance(self.default, FieldInfo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a function takes: arguments, the context, and dependencies."""

    arguments: tuple[Parameter, ...]
    contexts: tuple[str, ...]
    dependencies: Mapping[str, Dependency]
    positional_only: tuple[tuple[str, Any], ...]


def read_parameters(function: Any, *, skip_first: bool, owner: str) -> InputModel:
    """The model of a function's arguments.

    Args:
        function: The function.
        skip_first: Its first parameter is handed in by whoever calls it.
        owner: What it is called, for messages.

    Raises:
        ToolDefinitionError: naming file, line, function, parameter and what to do.
    """
    try:
        parameters = read_signature(function, skip_first=skip_first)
        described = read_docstring(inspect.getdoc(function)).parameters
        return build_model(parameters, described, owner)
    except ToolDefinitionError as error:
        raise located_error(error, function) from None


def located_error(error: ToolDefinitionError, function: Any) -> ToolDefinitionError:
    """The same refusal, saying where the function stands."""
    return ToolDefinitionError(
        error.reason,
        where=error.where or place_of(function),
        parameter=error.parameter,
        hint=error.hint,
    )


def read_signature(function: Any, *, skip_first: bool = False) -> Parameters:
    """Sort a function's parameters by who fills them.

    Raises:
        ToolDefinitionError: naming the parameter.
    """
    found = list(signature_of(function).parameters.values())[1 if skip_first else 0 :]
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
    if parameter.annotation is _EMPTY:
        raise unannotated(parameter.name)
    annotation = _named(parameter.name, lambda: resolve(parameter.annotation, function))
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
    _named(parameter.name, lambda: check_crossing(annotation))
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
        if parameter.default is _EMPTY and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ToolDefinitionError(
                f"its dependency takes {parameter.name!r}, and nobody fills that.",
                parameter=name,
                hint="A dependency takes nothing; Context.current() works inside it.",
            )


def _named(name: str, read: Any) -> Any:
    try:
        return read()
    except ToolDefinitionError as error:
        raise ToolDefinitionError(error.reason, parameter=name, hint=error.hint) from None


def build_model(parameters: Parameters, described: Mapping[str, str], owner: str) -> InputModel:
    """The model of the arguments, its published schema, and the check by that schema.

    Raises:
        ToolDefinitionError: naming the parameter whose type cannot be described.
    """
    fields = _field_names(parameters.arguments)
    model = _model(parameters.arguments, fields, described, owner)
    arguments = tuple(
        _appearance(parameter, field, model)
        for parameter, field in zip(parameters.arguments, fields, strict=True)
    )
    _check_distinct(arguments)
    schema = _schema(model, parameters.arguments)
    check = _add_defaults(schema, model, parameters.arguments, arguments)
    return InputModel(
        owner=owner,
        model=model,
        schema=schema,
        check=check,
        parameters=arguments,
        positional=tuple(
            parameter.name
            for parameter in parameters.arguments
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        ),
        positional_only=parameters.positional_only,
        omissible=frozenset(
            argument.wire
            for argument in arguments
            if not model.model_fields[argument.field].is_required()
            and not accepts_none(model.model_fields[argument.field].annotation)
        ),
        validate=model.__pydantic_validator__.validate_json,
        carried=tuple((argument.name, argument.field, argument.always) for argument in arguments),
    )


def _field_names(parameters: tuple[Parameter, ...]) -> list[str]:
    taken = {parameter.name for parameter in parameters}
    found: list[str] = []
    for parameter in parameters:
        field = parameter.name
        if field.startswith(("_", "model_")) or field == "self" or hasattr(BaseModel, field):
            field = f"{field.strip('_') or 'argument'}_"
            while field in taken or field.startswith("model_") or hasattr(BaseModel, field):
                field = f"p_{field}"
            taken.add(field)
        found.append(field)
    return found


def _model(
    parameters: tuple[Parameter, ...], fields: list[str], described: Mapping[str, str], owner: str
) -> type[BaseModel]:
    definitions: dict[str, Any] = {
        field: (_typed(parameter, field, described.get(parameter.name)), _default(parameter))
        for parameter, field in zip(parameters, fields, strict=True)
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: type[BaseModel] = create_model(
                f"{owner} arguments", __config__=_CONFIG, **definitions
            )
            if not model.__pydantic_complete__:
                model.model_rebuild(raise_errors=True)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError) as error:
        _blame(parameters)
        raise refused_type(owner, error) from None
    return model


def _blame(parameters: tuple[Parameter, ...]) -> None:
    """Find the parameter whose type cannot be described, and refuse it by name."""
    for parameter in parameters:
        _named(
            parameter.name,
            lambda annotation=parameter.annotation: json_schema(
                adapter_of(annotation), "validation"
            ),
        )


def _typed(parameter: Parameter, field: str, description: str | None) -> Any:
    annotation = parameter.annotation
    metadata: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    texts = [item for item in metadata if isinstance(item, str)]
    infos = [item for item in metadata if isinstance(item, FieldInfo)]
    rules = [item for item in metadata if not isinstance(item, str | FieldInfo)]
    if rules:
        annotation = Annotated[(annotation, *rules)]
    if _means_none(parameter.default, infos) and not accepts_none(annotation):
        annotation = Optional[annotation]  # noqa: UP045
    extra: dict[str, Any] = {}
    if texts or description:
        extra["description"] = texts[0] if texts else description
    if field != parameter.name:
        extra["alias"] = parameter.name
    if extra:
        infos.insert(0, Field(**extra))
    return Annotated[(annotation, *infos)] if infos else annotation


def _means_none(default: Any, infos: list[FieldInfo]) -> bool:
    if isinstance(default, FieldInfo):
        return default.default is None
    return default is None or (default is _EMPTY and any(info.default is None for info in infos))


def _default(parameter: Parameter) -> Any:
    if parameter.default is _EMPTY:
        return ...
    return LEFT_OUT if parameter.has_default else parameter.default


def _appearance(parameter: Parameter, field: str, model: type[BaseModel]) -> Argument:
    info = model.model_fields[field]
    wire = info.validation_alias if info.validation_alias is not None else info.alias or field
    if not isinstance(wire, str):
        raise ToolDefinitionError(
            f"an {type(wire).__name__} has no JSON Schema.",
            parameter=parameter.name,
            hint="Give it one plain alias.",
        )
    return Argument(
        name=parameter.name,
        wire=wire,
        field=field,
        annotation=parameter.annotation,
        always=not info.is_required() and not parameter.has_default,
    )


def _check_distinct(arguments: tuple[Argument, ...]) -> None:
    seen: dict[str, str] = {}
    for argument in arguments:
        if argument.wire in seen:
            raise ToolDefinitionError(
                f"it is called {argument.wire!r} in JSON, and so is {seen[argument.wire]!r}.",
                parameter=argument.name,
            )
        seen[argument.wire] = argument.name


def _schema(model: type[BaseModel], parameters: tuple[Parameter, ...]) -> JsonObject:
    try:
        schema = json_schema(TypeAdapter(model), "validation")
    except ToolDefinitionError:
        _blame(parameters)
        raise
    schema.pop("title", None)
    return schema


def _add_defaults(
    schema: JsonObject,
    model: type[BaseModel],
    parameters: tuple[Parameter, ...],
    arguments: tuple[Argument, ...],
) -> SchemaCheck:
    """Publish the defaults that are JSON and that the type itself accepts."""
    properties: Any = schema["properties"]
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.has_default:
            try:
                properties[argument.wire]["default"] = to_json(parameter.default)
            except JsonRefused:
                continue
    check = _checked(schema)
    shown = {name: found["default"] for name, found in properties.items() if "default" in found}
    for name in _unfit(shown, model, check):
        del properties[name]["default"]
    return check


def _unfit(shown: JsonObject, model: type[BaseModel], check: SchemaCheck) -> set[str]:
    places = {problem.pointer for problem in check.problems(shown) if problem.got != "nothing"}
    unfit = {name for name in shown if any(_within(name, place) for place in places)}
    try:
        model.__pydantic_validator__.validate_json(canonical_json(shown), strict=True)
    except ValidationError as error:
        unfit |= {str(fault.place[0]) for fault in faults_of(error, shown) if fault.place}
    except Exception:  # a check of the author's own model may raise anything
        return set(shown)
    return unfit & shown.keys()


def _within(name: str, place: str) -> bool:
    head = place.split("/")[1] if place else ""
    return head.replace("~1", "/").replace("~0", "~") == name


def _checked(schema: JsonObject) -> SchemaCheck:
    try:
        return SchemaCheck(schema)
    except JsonRefused as error:
        raise ToolDefinitionError(error.message) from None
