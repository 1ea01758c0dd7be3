"""Parameters as one pydantic model, its published schema, and the check by that schema."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from copy import deepcopy
from functools import partial
from typing import Annotated, Any, Final, Optional, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo

from salvor.errors import JsonRefused, ToolDefinitionError
from salvor.tools.adapter import BYTES, adapter_of, json_schema, refused_type
from salvor.tools.annotations import accepts_none, is_plain
from salvor.tools.arguments import Argument, InputModel
from salvor.tools.at_once import is_flat
from salvor.tools.check import SchemaCheck
from salvor.tools.injection import LEFT_OUT
from salvor.tools.literals import exact_validator, lists_values
from salvor.tools.parameters import EMPTY, Parameter, Parameters, naming
from salvor.tools.plain import to_json
from salvor.tools.problems import faults_of
from salvor.values import JsonObject, canonical_json

_CONFIG: Final = ConfigDict(extra="forbid", protected_namespaces=(), **BYTES)


def build_model(parameters: Parameters, described: Mapping[str, str], owner: str) -> InputModel:
    """The model of the arguments, its published schema, and the check by that schema.

    Raises:
        ToolDefinitionError: naming the parameter whose type cannot be described.
    """
    fields = _field_names(parameters.arguments)
    model = _model(parameters, fields, owner)
    arguments = tuple(
        _appearance(parameter, field, model)
        for parameter, field in zip(parameters.arguments, fields, strict=True)
    )
    _check_distinct(arguments)
    schema = _schema(model, parameters)
    _add_descriptions(schema, parameters.arguments, arguments, described)
    check = _add_defaults(schema, model, parameters.arguments, arguments)
    validator: Any = model.__pydantic_validator__
    if lists_values(schema):
        validator = exact_validator(model.__pydantic_core_schema__, validator)
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
        validate=validator.validate_json,
        carried=tuple((argument.name, argument.field, argument.always) for argument in arguments),
        named_alike=all(argument.name == argument.field for argument in arguments),
        flat=is_flat(schema),
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


def _model(parameters: Parameters, fields: list[str], owner: str) -> type[BaseModel]:
    definitions: dict[str, Any] = {
        field: (_typed(parameter, field), _default(parameter))
        for parameter, field in zip(parameters.arguments, fields, strict=True)
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model: type[BaseModel] = create_model(
                f"{owner} arguments", __config__=_CONFIG, **definitions
            )
            if not model.__pydantic_complete__:
                model.model_rebuild(raise_errors=True, _types_namespace=parameters.names)
    except Exception as error:  # pydantic asserts, and a type may build its own schema
        _blame(parameters)
        raise refused_type(owner, error) from None
    return model


def _blame(parameters: Parameters) -> None:
    """Find the parameter whose type cannot be described, and refuse it by name."""
    for parameter in parameters.arguments:
        naming(parameter.name, partial(_describe, parameter.annotation, parameters.names))


def _describe(annotation: Any, names: Mapping[str, Any]) -> JsonObject:
    return json_schema(adapter_of(annotation, names), "validation")


def _typed(parameter: Parameter, field: str) -> Any:
    annotation = parameter.annotation
    metadata: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    infos = [item for item in metadata if isinstance(item, FieldInfo)]
    rules = [item for item in metadata if not isinstance(item, str | FieldInfo)]
    if rules:
        annotation = Annotated[(annotation, *rules)]
    if _means_none(parameter.default, infos) and not accepts_none(annotation):
        annotation = Optional[annotation]  # noqa: UP045
    if field != parameter.name:
        infos.insert(0, Field(alias=parameter.name))
    return Annotated[(annotation, *infos)] if infos else annotation


def _means_none(default: Any, infos: list[FieldInfo]) -> bool:
    if isinstance(default, FieldInfo):
        return default.default is None
    return default is None or (default is EMPTY and any(info.default is None for info in infos))


def _default(parameter: Parameter) -> Any:
    if parameter.default is EMPTY:
        return ...
    if not parameter.has_default:
        return parameter.default
    kept = _copy_of_mutable(parameter.default)
    return LEFT_OUT if kept is None else Field(default_factory=partial(deepcopy, kept))


def _copy_of_mutable(default: Any) -> Any:
    """A copy of a default that a body could change for the calls after it; or `None`."""
    try:
        hash(default)
    except TypeError:
        try:
            return deepcopy(default)
        except Exception:  # what it holds may refuse in any way: the function supplies it then
            return None
    return None


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
        always=info.default is not LEFT_OUT and not info.is_required(),
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


def _schema(model: type[BaseModel], parameters: Parameters) -> JsonObject:
    try:
        schema = json_schema(model, "validation")
    except ToolDefinitionError:
        _blame(parameters)
        raise
    schema.pop("title", None)
    return schema


def _add_descriptions(
    schema: JsonObject,
    parameters: tuple[Parameter, ...],
    arguments: tuple[Argument, ...],
    described: Mapping[str, str],
) -> None:
    """Describe what no `Field` describes: by ``Annotated[T, "text"]``, else by the docstring."""
    properties: Any = schema["properties"]
    for parameter, argument in zip(parameters, arguments, strict=True):
        text = described.get(parameter.name)
        if get_origin(parameter.annotation) is Annotated:
            metadata = get_args(parameter.annotation)[1:]
            text = next((item for item in metadata if isinstance(item, str)), text)
        if text:
            properties[argument.wire].setdefault("description", text)


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
    sure = all(is_plain(parameter.annotation) for parameter in parameters)
    check = SchemaCheck.later(schema) if sure else _checked(schema)
    plain = {
        argument.wire
        for parameter, argument in zip(parameters, arguments, strict=True)
        if is_plain(parameter.annotation) and _surely_fits(parameter.default, parameter.annotation)
    }
    shown = {
        name: found["default"]
        for name, found in properties.items()
        if "default" in found and name not in plain
    }
    for name in _unfit(shown, model, check):
        del properties[name]["default"]
    return check


def _surely_fits(default: Any, annotation: Any) -> bool:
    """Whether a default fits a plain type, as its class alone tells."""
    # One that is None is taken by every type that has it as its default.
    return default is None or (annotation in _PLAIN and type(default) is annotation)


_PLAIN = (str, int, bool)


def _unfit(shown: JsonObject, model: type[BaseModel], check: SchemaCheck) -> set[str]:
    if not shown:
        return set()
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
