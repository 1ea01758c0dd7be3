"""Definitions that were made before, kept as long as their tools live."""

from __future__ import annotations

import marshal
from collections.abc import Hashable
from typing import Any
from weakref import WeakKeyDictionary

from salvor.values import JsonObject, JsonValue


class Finished:
    """What was made of tools, by how it was made; each gets a copy of its own.

    A tool is a value: what it says does not change. One that is compared by what is in it, or
    cannot be referred to weakly, is not kept.
    """

    def __init__(self) -> None:
        self._by_tool: WeakKeyDictionary[Any, dict[Hashable, tuple[bytes, bool]]]
        self._by_tool = WeakKeyDictionary()

    def get(self, tool: object, way: Hashable) -> tuple[JsonObject, bool] | None:
        """A copy of what was kept, and whether its results are wrapped."""
        try:
            made, wrapped = self._by_tool[tool][way]
        except (KeyError, TypeError):
            return None
        return marshal.loads(made), wrapped

    def keep(self, tool: object, way: Hashable, made: JsonObject, wrapped: bool) -> None:
        """Keep what was made, as bytes that nobody can change."""
        if type(tool).__eq__ is not object.__eq__:
            return
        try:
            # Read several times faster than objects are copied.
            self._by_tool.setdefault(tool, {})[way] = (marshal.dumps(made), wrapped)
        except (TypeError, ValueError):  # no weak reference; something that is not quite JSON
            return


def copied(value: JsonObject) -> JsonObject:
    """A copy of an object in which nothing stands twice: no change shows in two places."""
    return {key: _copied(item) for key, item in value.items()}


def _copied(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return copied(value)
    return [_copied(item) for item in value] if isinstance(value, list) else value
