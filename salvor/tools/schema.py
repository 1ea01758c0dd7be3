"""JSON Schemas of types: deterministic, closed, without noise; and values of one type."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache
from inspect import Signature
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic.json_schema import (
    GenerateJsonSchema,
    JsonRef,
    JsonSchemaMode,
    JsonSchemaValue,
    NoDefault,
)
from pydantic_core import PydanticSerializationError, core_schema

from salvor.errors import JsonRefused, OutputRefused, Problem, ToolDefinitionError
from salvor.tools.annotations import check_crossing, local_names, resolve, signature_of
from salvor.tools.contract import place_of
from salvor.tools.injection import LEFT_OUT
from salvor.tools.literals import exact_validator
from salvor.tools.plain import not_finite, to_json
from salvor.tools.wording import BASE64, got
from salvor.values import MAX_OUTPUT_BYTES, JsonObject, JsonValue, as_json, canonical_json

BYTES: Final = ConfigDict(
    val_json_bytes="base64", ser_json_bytes="base64", ser_json_inf_nan="constants"
)

_CLOCK: Final = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?"
_TIME: Final = rf"^{_CLOCK}([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?$"
_NAIVE: Final = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt]{_CLOCK}$"
_INTEGER_KEY: Final = r"^(0|-?[1-9][0-9]*)$"
_NUMBER_KEY: Final = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"
_KEYS: Final[dict[str, JsonSchemaValue]] = {
    "integer": {"pattern": _INTEGER_KEY},
    "number": {"pattern": _NUMBER_KEY},
    "boolean": {"enum": ["true", "false"]},
}
_DECIMAL: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?$"


class SchemaGenerator(GenerateJsonSchema):
    """Draft 2020-12 as salvor publishes it."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never: the title only repeats the name."""
        return False

    def emit_warning(self, kind: str, detail: str) -> None:
        """A default that is no JSON is left out, without noise."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """A model, closed unless it says that it takes more."""
        return _tidy(super().model_schema(schema), schema["cls"], schema["cls"].model_config)

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """A dataclass, closed."""
        config = getattr(schema["cls"], "__pydantic_config__", {})
        return _tidy(super().dataclass_schema(schema), schema["cls"], config)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        """A typed dict, closed unless it says that it takes more."""
        cls = schema.get("cls")
        config = dict(getattr(cls, "__pydantic_config__", {}))
        config.setdefault("extra", schema.get("extra_behavior"))
        return _tidy(super().typed_dict_schema(schema), cls, config)

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> JsonSchemaValue:
        """A union by a tag: the tag has to be there, also where an arm has a default for it."""
        found = super().tagged_union_schema(schema)
        tag = schema["discriminator"]
        if isinstance(tag, str) and "oneOf" in found:
            found.setdefault("required", [found.get("discriminator", {}).get("propertyName", tag)])
        return found

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """An object; its keys are text, whatever they become, and no two texts are one key."""
        found = super().dict_schema(schema)
        if "patternProperties" in found:
            found.setdefault("additionalProperties", False)
        elif "keys_schema" in schema:
            keys = schema["keys_schema"]
            if keys["type"] == "literal":  # of which pydantic finds no number by its text
                keys = {**keys, "expected": [e for e in keys["expected"] if isinstance(e, str)]}
            names = self._as_text(self.generate_inner(keys))
            found = {**found, "propertyNames": names} if names else found
        return found

    def _as_text(self, schema: JsonSchemaValue) -> JsonSchemaValue:
        """What the key may be whose value has that schema; empty for any."""
        if "$ref" in schema:
            meant = self.get_schema_from_definitions(JsonRef(schema["$ref"]))
            found = self._as_text(meant or {})
            return schema if found == meant else found
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            if all(isinstance(value, str) for value in values):
                return schema
            return {"enum": [v if isinstance(v, str) else canonical_json(v) for v in values]}
        if "anyOf" in schema:
            arms = [self._as_text(arm) for arm in schema["anyOf"]]
            return {"anyOf": arms} if all(arms) else {}
        if schema.get("type") == "string":
            return {name: value for name, value in schema.items() if name not in ("type", "title")}
        return _KEYS.get(schema.get("type", ""), {})

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """An enum by its values; pydantic puts a title on it later."""
        self._enums = {*getattr(self, "_enums", ()), schema["cls"].__name__}
        return super().enum_schema(schema)

    def generate(self, schema: Any, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        """The whole schema of a type."""
        found = super().generate(schema, mode)
        for node in (found, *found.get("$defs", {}).values()):
            if "enum" in node and node.get("title") in getattr(self, "_enums", ()):
                del node["title"]
        return found

    def bytes_schema(self, schema: core_schema.BytesSchema) -> JsonSchemaValue:
        """Base64 text; its length is not the length of the bytes, and checkers decode nothing."""
        found = super().bytes_schema(schema)
        if found.get("format") == "base64url":
            return {"type": "string", "contentEncoding": "base64", "pattern": BASE64}
        return found

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        """A time of day; the zone that the format `time` demands is optional in Python."""
        return {"type": "string", "pattern": _TIME}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        """RFC 3339, which has a zone; a type without one by its pattern."""
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "pattern": _NAIVE}
        return super().datetime_schema(schema)

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        """A number, or a number as text."""
        found = super().decimal_schema(schema)
        for arm in found.get("anyOf", [found]):
            if arm.get("type") == "string":
                arm.setdefault("pattern", _DECIMAL)
        return found

    def get_default_value(self, schema: core_schema.WithDefaultSchema) -> Any:
        """The default, where the type states one."""
        found = super().get_default_value(schema)
        return NoDefault if found is LEFT_OUT else found

    def encode_default(self, dft: Any) -> Any:
        """Defaults as JSON, with sets in order and no text made up for what is not JSON."""
        try:
            return to_json(dft)
        except JsonRefused as error:
            raise PydanticSerializationError(str(error)) from None


def _tidy(schema: JsonSchemaValue, cls: Any, config: Any) -> JsonSchemaValue:
    if cls is not None and schema.get("title") == cls.__name__ and "title" not in (config or {}):
        del schema["title"]
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


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
    except PydanticInvalidForJsonSchema as error:
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
    except UNDESCRIBED as error:
        raise refused_type(annotation, error) from None


UNDESCRIBED: Final = (PydanticUserError, PydanticUndefinedAnnotation, TypeError, NameError)
"""What pydantic raises for a type that it cannot handle."""


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
        return TypeAdapter(annotation)


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
    return str(error).partition("\n")[0].partition(" Set `arbitrary_types_allowed")[0]


class ValueType:
    """One type, as it crosses into the log and back.

    Args:
        annotation: The type; `inspect.Signature.empty` and `Any` mean plain JSON.
        where: What the value is, for messages.
        names: What the texts of its annotations may mean, besides what their modules hold.

    Raises:
        ToolDefinitionError: when its values cannot cross.
    """

    __slots__ = ("_adapter", "_schema", "_validator", "where")

    def __init__(
        self, annotation: Any, *, where: str, names: Mapping[str, Any] | None = None
    ) -> None:
        self.where = where
        self._schema: JsonObject | None = None
        self._adapter: TypeAdapter[Any] | None = None
        self._validator: Any = None
        if annotation is not Any:
            check_crossing(annotation, names)
            self._adapter = adapter_of(annotation, names)
            self._validator = exact_validator(self._adapter.core_schema, self._adapter.validator)

    @classmethod
    def of_return(
        cls, function: Any, *, where: str | None = None, signature: Signature | None = None
    ) -> ValueType:
        """The type a function declares to return; plain JSON when it declares none."""
        annotation = (signature or signature_of(function)).return_annotation
        named = where or str(getattr(function, "__name__", "the function"))
        if annotation is Signature.empty:
            return cls(Any, where=named)
        try:
            found = _awaited(resolve(annotation, function))
            return cls(found, where=named, names=local_names(function))
        except ToolDefinitionError as error:
            raise ToolDefinitionError(
                f"its return type: {error.reason}", where=place_of(function), hint=error.hint
            ) from None

    @property
    def typed(self) -> bool:
        """Whether there is a type to check against."""
        return self._adapter is not None

    @property
    def schema(self) -> JsonObject | None:
        """The JSON Schema of the values that `encode` makes; `None` for plain JSON."""
        if self._schema is None and self._adapter is not None:
            self._schema = json_schema(self._adapter, "serialization")
        return self._schema

    def encode(self, value: Any) -> JsonValue:
        """Turn a Python value into JSON that `decode` accepts.

        Raises:
            OutputRefused: when it is not of the type, not strict JSON, or above 8 MiB.
        """
        try:
            if self._adapter is None:
                found = to_json(value, what="the result", whole=True)
                self._checked_text(found)
                return found
            plain: JsonValue = self._adapter.dump_python(
                value, mode="json", by_alias=True, warnings="error"
            )
            text = self._checked_text(plain)
            if "null" in text:
                self._check_finite(value)
        except JsonRefused as error:
            raise self._refused("", "strict JSON", error.message) from None
        except PydanticSerializationError as error:
            raise self._unlike(value, error) from None
        self._validated(text, plain)
        return plain

    def decode(self, value: JsonValue) -> Any:
        """The typed value of recorded JSON.

        Raises:
            OutputRefused: when the type does not accept it.
        """
        if self._adapter is None:
            return value
        return self._validated(canonical_json(value), value)

    def _check_finite(self, value: Any) -> None:
        # A model turns a number that is no JSON into null, without a word.
        place = not_finite(value)
        if place is not None:
            raise self._refused(place, "a JSON number", "a number that is not finite")

    def _validated(self, text: str, plain: JsonValue) -> Any:
        try:
            return self._validator.validate_json(text, strict=True)
        except ValidationError as error:
            from salvor.tools.problems import problems_of  # which only a refusal needs

            problems = problems_of(error, plain)
            raise OutputRefused(tool=self.where, problems=problems) from None

    def _checked_text(self, value: JsonValue) -> str:
        try:
            text = canonical_json(value)
            size = len(text.encode()) if len(text) * 4 > MAX_OUTPUT_BYTES else len(text)
            text.isascii() or text.encode()
        except (ValueError, TypeError, RecursionError) as error:
            as_json(value, what="the result")
            raise JsonRefused(f"the result cannot be written as JSON: {error}.") from None
        if size > MAX_OUTPUT_BYTES:
            raise self._refused(
                "", f"at most {MAX_OUTPUT_BYTES:,} bytes of JSON", f"{size:,} bytes"
            )
        return text

    def _unlike(self, value: Any, error: Exception) -> OutputRefused:
        lines = [line.strip() for line in str(error).splitlines()]
        reason = next((line for line in lines if "Expected" in line), lines[0])
        return self._refused("", "a value of the declared type", f"{got(value)} ({reason})")

    def _refused(self, place: str, expected: str, came: str) -> OutputRefused:
        problem = Problem(pointer=place, expected=expected, got=came)
        return OutputRefused(tool=self.where, problems=(problem,))


def _awaited(annotation: Any) -> Any:
    origin = get_origin(annotation)
    if getattr(origin, "__name__", None) in ("Awaitable", "Coroutine"):
        return get_args(annotation)[-1]
    return annotation
