"""Python values to JSON, exactly as they were passed."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from salvor.errors import JsonRefused
from salvor.values import MAX_DEPTH, JsonValue, as_json, canonical_json

_SCALARS = (str, int, float, bool, type(None))


def to_json(value: Any, *, what: str = "the value") -> JsonValue:
    """Turn a Python value into JSON.

    Sets are sorted by their canonical text, bytes become base64, instants RFC 3339 text,
    enums their values; a model gives the fields that were set and its literal tags.

    Raises:
        JsonRefused: naming the place of what has no JSON form.
    """
    return as_json(_plain(value, what, 0), what=what)


def _plain(value: Any, what: str, depth: int) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if depth > MAX_DEPTH:
        raise JsonRefused(f"{what} is nested more than {MAX_DEPTH} levels deep.")
    if isinstance(value, Enum):
        return _plain(value.value, what, depth + 1)
    if isinstance(value, BaseModel):
        return _leaf(_as_set(value, what, depth), what)
    if isinstance(value, Mapping):
        return _object(value, what, depth)
    if isinstance(value, list | tuple):
        return [_plain(item, what, depth + 1) for item in value]
    if isinstance(value, set | frozenset):
        return _sorted(value, what, depth)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _object(fields, what, depth)
    return _leaf(value, what)


def _object(value: Mapping[Any, Any], what: str, depth: int) -> dict[str, Any]:
    found = {_key(key, what): _plain(item, what, depth + 1) for key, item in value.items()}
    if len(found) != len(value):
        raise JsonRefused(f"{what} is not JSON: two of its keys are the same text.")
    return found


def _key(key: Any, what: str) -> str:
    if type(key) is str:
        return key
    plain = _leaf({key: None}, what)
    return str(next(iter(plain)))


def _sorted(items: Iterable[Any], what: str, depth: int) -> list[Any]:
    plain = [_plain(item, what, depth + 1) for item in items]
    return sorted(plain, key=lambda item: canonical_json(as_json(item, what=what)))


def _leaf(value: Any, what: str) -> Any:
    try:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
        return to_jsonable_python(value, by_alias=True, bytes_mode="base64")
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise JsonRefused(
            f"{what} is not JSON: a {type(value).__qualname__} has no JSON form ({reason})."
        ) from None


def _as_set(model: BaseModel, what: str, depth: int) -> BaseModel:
    """A copy that dumps what was passed: tags count as set, and sets come in order."""
    if depth > MAX_DEPTH:
        raise JsonRefused(f"{what} is nested more than {MAX_DEPTH} levels deep.")
    copy = model.model_copy()
    tags = {
        name
        for name, field in type(model).model_fields.items()
        if get_origin(field.annotation) is Literal
    }
    copy.__pydantic_fields_set__.update(tags)
    for name, value in copy.__dict__.items():
        copy.__dict__[name] = _inner(value, what, depth + 1)
    for name, value in (copy.__pydantic_extra__ or {}).items():
        copy.__pydantic_extra__[name] = _inner(value, what, depth + 1)  # type: ignore[index]
    return copy


def _inner(value: Any, what: str, depth: int) -> Any:
    if isinstance(value, BaseModel):
        return _as_set(value, what, depth)
    if type(value) is list:
        return [_inner(item, what, depth + 1) for item in value]
    if type(value) is tuple:
        return tuple(_inner(item, what, depth + 1) for item in value)
    if type(value) is dict:
        return {key: _inner(item, what, depth + 1) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=lambda item: canonical_json(to_json(item, what=what)))
    return value
