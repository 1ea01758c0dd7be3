"""What pydantic knows of a type: what validates and writes it, and its published schema."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, NewType, get_args, get_origin

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic.json_schema import JsonSchemaMode
from pydantic_core import CoreConfig, SchemaError

from salvor.errors import ToolDefinitionError
from salvor.tools.generator import SchemaGenerator
from salvor.values import JsonObject, as_json

BYTES: Final = ConfigDict(
    val_json_bytes="base64", ser_json_bytes="base64", ser_json_inf_nan="constants"
)

WRITTEN: Final = CoreConfig(ser_json_bytes="base64", ser_json_inf_nan="constants")
"""The same, for what pydantic makes serialisers of."""


def json_schema(of: TypeAdapter[Any] | type[BaseModel], mode: JsonSchemaMode) -> JsonObject:
    """The published schema of a type, by its adapter, or of a model.

    Raises:
        ToolDefinitionError: when the type has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = of.json_schema if isinstance(of, TypeAdapter) else of.model_json_schema
            found = made(schema_generator=SchemaGenerator, mode=mode)
    except Exception as error:  # a type may describe itself, and fail in any way
        raise ToolDefinitionError(_reason(error), hint=NO_SCHEMA) from None
    as_json(found, what="the JSON Schema")
    return found


NO_SCHEMA = "Use a type that JSON can carry, or take the value through Depends."


def adapter_of(annotation: Any, names: Mapping[str, Any] | None = None) -> TypeAdapter[Any]:
    """What validates and serialises a type.

    Args:
        annotation: The type.
        names: What the texts of its annotations may mean, besides what their modules hold.

    Raises:
        ToolDefinitionError: when pydantic cannot handle it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scalar = type(annotation) is type and annotation in _SCALARS
            adapter = _scalar(annotation) if scalar else _adapter(annotation)
            if not adapter.pydantic_complete:
                adapter.rebuild(raise_errors=True, _types_namespace=names or {})
            return adapter
    except Exception as error:  # pydantic asserts, and a type may build its own schema
        raise refused_type(annotation, error) from None


_SCALARS: Final = (str, int, float, bool, type(None))


@cache
def _scalar(annotation: Any) -> TypeAdapter[Any]:
    return _adapter(annotation)


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(annotation, config=BYTES)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        if _has_config(annotation):
            return TypeAdapter(annotation)
        # A typed dict or dataclass says nothing of bytes, and by itself would make text of them.
        rename: Any = NewType
        return TypeAdapter(rename("_", annotation), config=BYTES)


def _has_config(annotation: Any) -> bool:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return is_model or hasattr(annotation, "__pydantic_config__")


def refused_type(annotation: Any, error: Exception) -> ToolDefinitionError:
    """The refusal of a type that pydantic cannot handle."""
    name = getattr(annotation, "__qualname__", None) or str(annotation)
    reason, hint = _reason(error), NO_SCHEMA
    if getattr(error, "code", None) == "typed-dict-version":
        reason = "Python 3.11 keeps too little of a typing.TypedDict."
        hint = "Import TypedDict from typing_extensions."
    elif isinstance(error, PydanticUndefinedAnnotation | NameError):
        hint = "Define or import what it names before it, or at module level."
    return ToolDefinitionError(
        f"values of the type {name} cannot be described in JSON: {reason}", hint=hint
    )


def _reason(error: Exception) -> str:
    text = str(error).strip()
    if isinstance(error, SchemaError):  # what is wrong stands at its end
        return text.rpartition("\n")[2].strip()
    first = text.partition("\n")[0].partition(" Set `arbitrary_types_allowed")[0]
    known = isinstance(error, PydanticUserError | TypeError | NameError)
    return first if known else f"{type(error).__name__}: {first}"
