"""JSON Schema as salvor publishes it, made of what pydantic knows of a type."""

from __future__ import annotations

from enum import Flag
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Final

from pydantic import EncodedBytes
from pydantic.json_schema import (
    GenerateJsonSchema,
    JsonRef,
    JsonSchemaMode,
    JsonSchemaValue,
    NoDefault,
)
from pydantic_core import PydanticSerializationError, core_schema

from salvor.errors import JsonRefused
from salvor.tools.injection import LEFT_OUT
from salvor.tools.plain import to_json
from salvor.tools.wording import BASE64, DURATION
from salvor.values import canonical_json

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
_NO_KEYS: Final = frozenset({"none", "tuple", "model", "dataclass", "typed-dict"})
_DECIMAL: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,6})?$"


class SchemaGenerator(GenerateJsonSchema):
    """Draft 2020-12 as salvor publishes it."""

    _methods: ClassVar[tuple[tuple[Any, str], ...]] = ()

    def build_schema_type_to_method(self) -> dict[Any, Any]:
        """What describes each kind of type, looked for once instead of by every generator."""
        cls = type(self)
        if not cls._methods:
            found = super().build_schema_type_to_method()
            cls._methods = tuple((kind, method.__name__) for kind, method in found.items())
        return {kind: getattr(self, name) for kind, name in cls._methods}

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
            keys = self._keys(schema["keys_schema"])
            names = self._as_text(self.generate_inner(keys))
            found = {**found, "propertyNames": names} if names else found
        return found

    def _keys(self, keys: Any) -> Any:
        """The keys that may be there: of a list of values, pydantic finds no number by its text."""
        if keys["type"] == "literal":
            keys = {**keys, "expected": [e for e in keys["expected"] if isinstance(e, str)]}
        elif keys["type"] == "enum" and "sub_type" not in keys:
            named = [member for member in keys["members"] if isinstance(member.value, str)]
            if named != keys["members"]:  # what it refers to elsewhere has them all
                keys = {**keys, "members": named}
                keys.pop("ref", None)
        if keys["type"] in _NO_KEYS or [] in (keys.get("expected"), keys.get("members")):
            return self.handle_invalid_for_json_schema(keys, "an object with keys that are no text")
        return keys

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

    def is_subclass_schema(self, schema: core_schema.IsSubclassSchema) -> JsonSchemaValue:
        """Never: no JSON is a class."""
        return self.handle_invalid_for_json_schema(schema, "a class")

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """The values themselves, of which none is made of bytes."""
        if any(isinstance(value, bytes) for value in schema["expected"]):
            return self.handle_invalid_for_json_schema(schema, "bytes as a literal")
        return super().literal_schema(schema)

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> Any:
        """What it checks; bytes are base64 in JSON already, and would be encoded twice."""
        if type(getattr(schema["function"]["function"], "__self__", None)) is EncodedBytes:
            return self.handle_invalid_for_json_schema(schema, "bytes encoded twice (use bytes)")
        return super().function_after_schema(schema)

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        """An enum by its values; pydantic puts a title on it later."""
        if not schema["members"]:
            return self.handle_invalid_for_json_schema(schema, "an enum without members")
        if issubclass(schema["cls"], Flag):
            every = reduce(or_, (member.value for member in schema["members"]), 0)
            return {"type": "integer", "minimum": 0, "maximum": every}
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

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        """ISO 8601, with what the format `duration` lacks: a sign, and parts of a second."""
        found = super().timedelta_schema(schema)
        return {"type": "string", "pattern": DURATION} if "format" in found else found

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
