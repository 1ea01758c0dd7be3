"""From arguments in strict form back to the tool's own: null that means absence is left out."""

from __future__ import annotations

from typing import Any, Final

from salvor.errors import ArgumentsRefused, Problem
from salvor.registry.schemas import takes_null, target
from salvor.tools.check import SchemaCheck
from salvor.values import JsonObject, JsonValue, canonical_json, pointer

_MOST_REFERENCES: Final = 100  # from one to the next without a schema in between


def restored(schema: JsonObject, arguments: JsonObject, *, tool: str) -> JsonObject:
    """The arguments as the tool's own schema has them; what is given is left alone.

    Args:
        schema: The tool's own input schema.
        arguments: What came, by the strict form of it.
        tool: The tool's name, for messages.

    Raises:
        ArgumentsRefused: a null could mean absence or null, by which schema of a union is meant.
    """
    found = _Restorer(schema, tool).back(arguments, schema, "")
    assert isinstance(found, dict)
    return found


class _Restorer:
    def __init__(self, root: JsonObject, tool: str) -> None:
        self._root = root
        self._tool = tool

    def back(self, value: JsonValue, node: JsonValue, at: str) -> JsonValue:
        node = self._held(node)
        for union in ("anyOf", "oneOf", "allOf"):
            arms = node.get(union)
            if isinstance(arms, list):
                return self._of_union(value, arms, at)
        if isinstance(value, dict):
            return self._object(value, node, at)
        if isinstance(value, list) and isinstance(node.get("items"), dict):
            items = node["items"]
            return [self.back(item, items, pointer(at, index)) for index, item in enumerate(value)]
        return value

    def _object(self, value: JsonObject, node: JsonObject, at: str) -> JsonObject:
        fields: Any = node.get("properties") or {}
        required: Any = node.get("required") or ()
        return {
            name: self.back(held, fields.get(name, {}), pointer(at, name))
            for name, held in value.items()
            if held is not None
            or name not in fields
            or name in required
            or takes_null(self._root, fields[name])
        }

    def _of_union(self, value: JsonValue, arms: list[JsonValue], at: str) -> JsonValue:
        meant = [(self.back(value, arm, at), arm) for arm in arms]
        changed = {canonical_json(found) for found, _ in meant}
        if len(changed) == 1:
            return meant[0][0]
        fitting = {canonical_json(one): one for one, arm in meant if self._fits(one, arm)}
        if len(fitting) > 1:
            problem = Problem(
                pointer=at,
                expected="a value of which only one schema of the union is meant",
                got="one in which null could be a value or a field left out",
            )
            raise ArgumentsRefused(tool=self._tool, problems=(problem,))
        return next(iter(fitting.values()), value)

    def _fits(self, value: JsonValue, arm: JsonValue) -> bool:
        definitions = self._root.get("$defs", {})
        return SchemaCheck({"$defs": definitions, "allOf": [arm]}).is_valid(value)

    def _held(self, node: JsonValue) -> JsonObject:
        for _ in range(_MOST_REFERENCES):
            if not isinstance(node, dict) or "$ref" not in node:
                break
            node = target(self._root, node["$ref"])
        return node if isinstance(node, dict) else {}
