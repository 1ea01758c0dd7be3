"""Typed reading of stored JSON objects."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from salvor.store_errors import MalformedLog
from salvor.values import JsonValue

T = TypeVar("T")


class Fields:
    """Typed reading of one JSON object, with errors that name run, position and field."""

    __slots__ = ("_object", "_run_id", "_seq")

    def __init__(self, value: Any, run_id: str, seq: int) -> None:
        self._run_id = run_id
        self._seq = seq
        if not isinstance(value, dict):
            raise self.malformed("an object is missing")
        self._object: dict[str, Any] = value

    def malformed(self, detail: str) -> MalformedLog:
        """The error that says what is wrong here."""
        return MalformedLog(run_id=self._run_id, seq=self._seq, detail=detail)

    def get(self, name: str, kind: type[T]) -> T:
        """A field that has to be there."""
        value = self._object.get(name)
        if type(value) is not kind:
            raise self.malformed(f"the field {name!r} is missing or no {kind.__name__}")
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        """A field that may be absent or null."""
        return None if self._object.get(name) is None else self.get(name, kind)

    def number(self, name: str) -> float:
        """A JSON number, however it is written."""
        value = self._object.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.malformed(f"the field {name!r} is missing or no number")
        return float(value)

    def one_of(self, name: str, allowed: tuple[str, ...]) -> Any:
        """A text out of a few."""
        value = self.get(name, str)
        if value not in allowed:
            raise self.malformed(f"the field {name!r} holds {value!r}")
        return value

    def optional_one_of(self, name: str, allowed: tuple[str, ...]) -> Any:
        """The same, where it may be absent."""
        return None if self._object.get(name) is None else self.one_of(name, allowed)

    def json(self, name: str) -> JsonValue:
        """Any JSON value; it has to be there."""
        if name not in self._object:
            raise self.malformed(f"the field {name!r} is missing")
        return cast("JsonValue", self._object[name])

    def inner(self, name: str) -> Fields:
        """An object inside."""
        return Fields(self._object.get(name), self._run_id, self._seq)

    def optional_inner(self, name: str) -> Fields | None:
        """The same, where it may be absent."""
        return None if self._object.get(name) is None else self.inner(name)

    def has(self, name: str) -> bool:
        """Whether the field is there, whatever it holds."""
        return name in self._object

    def texts(self, name: str) -> dict[str, str] | None:
        """A map of texts."""
        found = self.optional(name, dict)
        if found is not None and any(type(value) is not str for value in found.values()):
            raise self.malformed(f"the field {name!r} holds something that is no text")
        return found

    def items(self, name: str) -> list[Fields] | None:
        """Objects in a list, which may be absent."""
        listed = self.optional(name, list)
        if listed is None:
            return None
        return [Fields(item, self._run_id, self._seq) for item in listed]
