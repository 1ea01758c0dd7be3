"""Types that can be validated and may have no JSON Schema."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

# Their schema follows from their kind and their parts; literals and enums from their values.
# (Bytes have one too, but are written in another way.)
_DESCRIBED: Final = frozenset(
    {
        *("any", "none", "bool", "int", "float", "decimal", "str", "uuid", "url"),
        *("date", "time", "datetime", "timedelta", "literal", "enum"),
        *("list", "tuple", "set", "frozenset", "dict", "nullable", "union", "tagged-union"),
        *("typed-dict", "typed-dict-field", "model", "model-fields", "model-field"),
        *("dataclass", "dataclass-args", "dataclass-field", "default"),
        *("definitions", "definition-ref"),
    }
)
_OF_MODELS: Final = BaseModel.__get_pydantic_json_schema__.__func__  # type: ignore[attr-defined]
_BY_VALUES: Final = frozenset({"literal", "enum", "dict"})
_SEVERAL: Final = (list, tuple)
_PARTS: Final = (dict, list, tuple)
_SKIPPED: Final = frozenset(
    {"cls", "config", "expected", "members", "metadata", "serialization", "default"}
)


def may_lack_schema(node: Any) -> bool:
    """Whether only making the JSON Schema of a type tells whether it has one.

    Args:
        node: The core schema of the type.
    """
    if type(node) is not dict:
        return type(node) in _SEVERAL and any(map(may_lack_schema, node))
    kind = node.get("type")
    if type(kind) is str and (
        kind not in _DESCRIBED
        or (kind in _BY_VALUES and _values_lack(kind, node))
        or ("metadata" in node and _describes_itself(node["metadata"]))
    ):
        return True
    for key, item in node.items():
        if type(item) in _PARTS and key not in _SKIPPED and may_lack_schema(item):
            return True
    return False


def _values_lack(kind: str, node: dict[str, Any]) -> bool:
    if kind == "literal":
        return any(isinstance(value, bytes) for value in node["expected"])
    if kind == "dict":
        return node.get("keys_schema", {}).get("type", "any") not in ("any", "str", "int")
    return kind == "enum" and not node["members"]


def _describes_itself(metadata: dict[str, Any]) -> bool:
    for function in metadata.get("pydantic_js_functions", ()):
        if getattr(function, "__func__", function) is not _OF_MODELS:
            return True
    return False
