"""Python values to JSON, exactly as they were passed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from math import isfinite
from typing import Any, Literal, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from salvor.errors import JsonRefused
from salvor.tools.annotations import said_of
from salvor.values import MAX_DEPTH, JsonValue, as_json, canonical_json, pointer

_SCALARS = (str, int, float, bool, type(None))


class LeftOut(JsonRefused):
    """A value was set that its model never writes."""


def to_json(value: Any, *, what: str = "the value", whole: bool = False) -> JsonValue:
    """Turn a Python value into JSON.

    Sets are sorted by their canonical text, bytes become base64, instants RFC 3339 text,
    enums their values; a model gives the fields that were set and its literal tags.

    Args:
        value: The value.
        what: What it is, for messages.
        whole: Models give all their fields, also those that were not set.

    Raises:
        JsonRefused: naming the place of what has no JSON form.
    """
    return as_json(_Plain(what, whole, value).of(value, 0), what=what)


def not_finite(value: Any) -> str | None:
    """Where a value holds a number that is not finite, as a JSON Pointer; `None` for nowhere."""
    return next(_places(value, lambda leaf: isinstance(leaf, float) and not isfinite(leaf)), None)


def _places(value: Any, test: Callable[[Any], bool], place: str = "") -> Iterator[str]:
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, BaseModel):
        items = (*value.__dict__.items(), *(value.__pydantic_extra__ or {}).items())
    elif isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        items = enumerate(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = vars(value).items() if hasattr(value, "__dict__") else ()
    elif test(value):
        yield place
    for name, item in items:
        yield from _places(item, test, pointer(place, str(name)))


@lru_cache(maxsize=512)
def _names_in_json(kind: type) -> tuple[tuple[str, str], ...]:
    """The fields of a dataclass, each with the name that its `Field(alias=)` gives it in JSON."""
    stated = getattr(kind, "__pydantic_fields__", {})
    try:
        hints = {} if stated else get_type_hints(kind, include_extras=True)
    except Exception:  # a type that cannot be resolved states no alias
        hints = {}
    found = []
    for field in dataclasses.fields(kind):
        name = field.name
        said = [stated[name]] if stated else said_of(kind, name, hints.get(name))
        aliases = (getattr(item, "serialization_alias", None) for item in said)
        found.append((name, next((alias for alias in aliases if alias), name)))
    return tuple(found)


def _formless(leaf: Any) -> bool:
    if isinstance(leaf, Iterator):
        return True
    try:
        to_jsonable_python(leaf)
    except (PydanticSerializationError, ValueError, TypeError):
        return True
    return False


class _Plain:
    """One conversion: what is converted, for messages, and how models are dumped."""

    __slots__ = ("base64", "root", "what", "whole")

    def __init__(self, what: str, whole: bool, root: Any) -> None:
        self.what = what
        self.whole = whole
        self.root = root
        self.base64 = False

    def of(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _SCALARS:
            return value
        self._check_depth(depth)
        if isinstance(value, Enum):
            return self.of(value.value, depth + 1)
        if isinstance(value, BaseModel):
            return self._leaf(self._as_set(value, depth))
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, set | frozenset):
            return sorted((self.of(item, depth + 1) for item in value), key=self._text)
        if isinstance(value, bytes | bytearray):
            return self._base64(value)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = _names_in_json(type(value))
            return self._object({wire: getattr(value, own) for own, wire in names}, depth)
        return self._leaf(value)

    def _base64(self, value: bytes | bytearray) -> str:
        from base64 import b64encode  # which few arguments need

        return b64encode(value).decode()

    def _check_depth(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise JsonRefused(f"{self.what} is nested more than {MAX_DEPTH} levels deep.")

    def _text(self, item: Any) -> str:
        return canonical_json(as_json(item, what=self.what))

    def _object(self, value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        found = {self._key(key): self.of(item, depth + 1) for key, item in value.items()}
        if len(found) != len(value):
            raise JsonRefused(f"{self.what} is not JSON: two of its keys are the same text.")
        return found

    def _key(self, key: Any) -> str:
        if type(key) is str:
            return key
        if isinstance(key, bytes):
            return self._base64(key)
        return str(next(iter(self._leaf({key: None}))))

    def _leaf(self, value: Any) -> Any:
        try:
            if isinstance(value, BaseModel):
                place = not_finite(value)
                if place is not None:
                    raise ValueError(f"the number at {place} is not finite")
                return value.model_dump(
                    mode="json",
                    by_alias=True,
                    exclude_unset=not self.whole,
                    exclude_computed_fields=not self.whole,
                    warnings=False,
                )
            if isinstance(value, Iterator):
                raise TypeError("it may have no end, and can be read once")
            return to_jsonable_python(value, by_alias=True, bytes_mode="base64")
        except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
            reason = str(error).partition("\n")[0]
            name = type(value).__qualname__
            raise JsonRefused(
                f"{self.what} is not JSON{self._at()}: a {name} has no JSON form ({reason})."
            ) from None

    def _at(self) -> str:
        try:
            place = next(_places(self.root, _formless), "")
        except RecursionError:  # it holds itself
            place = ""
        return f" at {place}" if place else ""

    def _as_set(self, model: BaseModel, depth: int) -> BaseModel:
        # A copy that dumps what was passed: tags count as set, and sets come in order.
        self._check_depth(depth)
        self._check_written(model)
        copy = model.model_copy()
        copy.__pydantic_fields_set__.update(
            name
            for name, field in type(model).model_fields.items()
            if get_origin(field.annotation) is Literal
        )
        outer, self.base64 = self.base64, model.model_config.get("ser_json_bytes") == "base64"
        for values in (copy.__dict__, copy.__pydantic_extra__ or {}):
            values.update({name: self._inner(item, depth + 1) for name, item in values.items()})
        self.base64 = outer
        return copy

    def _check_written(self, model: BaseModel) -> None:
        if self.whole:
            return
        for name in model.model_fields_set & type(model).model_fields.keys():
            if type(model).model_fields[name].exclude:
                raise LeftOut(
                    f"{self.what} is not JSON: {type(model).__name__}.{name} was set, "
                    "and its model leaves it out (exclude=True)."
                )

    def _inner(self, value: Any, depth: int) -> Any:
        if isinstance(value, BaseModel):
            return self._as_set(value, depth)
        if self.base64 and isinstance(value, bytes):
            return self._base64(value)  # pydantic writes the other alphabet
        kind = type(value)
        if kind is list or kind is tuple:
            self._check_depth(depth)
            return kind(self._inner(item, depth + 1) for item in value)
        if kind is dict:
            self._check_depth(depth)
            return {key: self._inner(item, depth + 1) for key, item in value.items()}
        if isinstance(value, set | frozenset):
            return sorted(value, key=lambda item: self._text(self.of(item, depth + 1)))
        return value
