"""Results that are JSON but for their models, told by their classes alone.

Where each part of a value is exactly of the class that its type names, and the type says nothing
else, pydantic could write it in one way only and would read it back: it need not do either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import NoneType
from typing import Any, Final, TypeAlias

Walk: TypeAlias = Callable[[Any], Any]
_SCALARS: Final = {"str": str, "int": int, "float": float, "bool": bool, "none": NoneType}
_SAYS_NOTHING: Final = frozenset({"type", "metadata", "ref"})
_OF_MODELS: Final = frozenset({"cls", "schema", "config", "custom_init", "root_model", "frozen"})
_OF_FIELDS: Final = frozenset({"fields", "model_name", "computed_fields", "extra_behavior"})
_CONFIG: Final = frozenset({"title", "frozen", "extra_fields_behavior"})
_OF_DEFAULTS: Final = frozenset(
    {"schema", "default", "default_factory", "default_factory_takes_data"}
)


class Unsure(Exception):
    """A value is not exactly of its type, which may fit all the same."""


def exact_json(schema: Any) -> Walk | None:
    """What makes JSON of the values that are exactly of a type, and raises for others.

    A number that is not finite or a text that is not Unicode is left to who writes it down.

    Args:
        schema: The core schema of the type.

    Returns:
        `None` for a type that says more than the classes of its parts.
    """
    scalar = _scalar(schema)
    if scalar is not None:
        return _exactly(scalar)
    make = _WALKS.get(schema["type"])
    return None if make is None else make(schema)


def _says_only(schema: Any, keys: Collection[str]) -> bool:
    return all(key in _SAYS_NOTHING or key in keys for key in schema)


def _scalar(schema: Any) -> type | None:
    """The class of which every value is JSON and fits; only that class says so."""
    return _SCALARS.get(schema["type"]) if _says_only(schema, ()) else None


def _exactly(kind: type) -> Walk:
    def walk(value: Any) -> Any:
        if type(value) is not kind:
            raise Unsure
        return value

    return walk


def _nullable(schema: Any) -> Walk | None:
    inner = exact_json(schema["schema"])
    if inner is None or not _says_only(schema, ("schema",)):
        return None
    return lambda value: None if value is None else inner(value)


def _default(schema: Any) -> Walk | None:
    return exact_json(schema["schema"]) if _says_only(schema, _OF_DEFAULTS) else None


def _list(schema: Any) -> Walk | None:
    items = schema.get("items_schema", {"type": "any"})
    inner, kinds = exact_json(items), {_scalar(items)}
    if inner is None or not _says_only(schema, ("items_schema",)):
        return None

    def walk(value: Any) -> Any:
        if type(value) is not list:
            raise Unsure
        return value.copy() if kinds.issuperset(map(type, value)) else [*map(inner, value)]

    return walk


def _model(schema: Any) -> Walk | None:
    config, inside = schema.get("config", {}), schema["schema"]
    if not _says_only(schema, _OF_MODELS) or not _says_only(inside, _OF_FIELDS):
        return None
    if inside["type"] != "model-fields" or inside.get("computed_fields"):
        return None
    if schema.get("custom_init") or schema.get("root_model") or not config.keys() <= _CONFIG:
        return None
    if "allow" in (config.get("extra_fields_behavior"), inside.get("extra_behavior")):
        return None
    fields = [_field(name, field) for name, field in inside["fields"].items()]
    return _of_fields(schema["cls"], fields) if None not in fields else None


def _field(name: str, field: Any) -> tuple[str, type | None, Walk] | None:
    inner = exact_json(field["schema"]) if _says_only(field, ("schema", "frozen")) else None
    return None if inner is None else (name, _itself(field["schema"]), inner)


def _itself(schema: Any) -> type | None:
    """The class whose values are their own JSON in a type that is exact."""
    if schema["type"] in ("nullable", "default"):
        return _itself(schema["schema"])
    return _scalar(schema)


def _of_fields(cls: type, fields: list[Any]) -> Walk:
    def walk(value: Any) -> Any:
        if type(value) is not cls:
            raise Unsure
        held, made = value.__dict__, {}
        for name, kind, inner in fields:
            item = held[name]  # a KeyError for a model that was never filled: no surer
            made[name] = item if type(item) is kind else inner(item)
        return made

    return walk


_WALKS: Final[dict[str, Callable[[Any], Walk | None]]] = {
    "nullable": _nullable,
    "default": _default,
    "list": _list,
    "model": _model,
}
