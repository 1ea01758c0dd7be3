"""Bytes in results: standard base64, as in arguments, where pydantic writes another alphabet."""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Final

from pydantic_core import (
    CoreConfig,
    PydanticSerializationUnexpectedValue,
    SchemaSerializer,
    core_schema,
)

_SKIPPED: Final = frozenset({"cls", "config", "expected", "members", "metadata", "serialization"})


def base64_text(value: Any) -> str:
    """Bytes as standard base64, with padding."""
    if not isinstance(value, bytes | bytearray):
        raise PydanticSerializationUnexpectedValue(
            f"Expected `bytes` but got `{type(value).__name__}`"
        )
    return b64encode(value).decode()


def standard_serializer(schema: Any, serializer: Any, config: CoreConfig) -> Any:
    """The serialiser of a type; one that writes standard base64 where the type holds bytes.

    Args:
        schema: The core schema of the type.
        serializer: What pydantic made of it.
        config: What holds outside of models, which have their own.
    """
    changed = _standard(schema, writes_base64(config))
    if changed is schema:
        return serializer
    return SchemaSerializer(changed, config, _use_prebuilt=False)


def writes_base64(config: Any) -> bool:
    """Whether bytes are base64 under a configuration; elsewhere they are text."""
    return bool(config) and config.get("ser_json_bytes") == "base64"


def _standard(node: Any, writes: bool) -> Any:
    if type(node) is dict:
        if node.get("type") in ("model", "dataclass"):
            writes = writes_base64(node.get("config"))
        elif "config" in node:
            writes = writes_base64(node["config"])
        if node.get("type") == "bytes" and writes and "serialization" not in node:
            return {**node, "serialization": _WRITTEN}
        changed = {
            key: _standard(item, writes) for key, item in node.items() if key not in _SKIPPED
        }
        same = all(changed[key] is node[key] for key in changed)
        return node if same else {**node, **changed}
    if type(node) is list or type(node) is tuple:
        items = [_standard(item, writes) for item in node]
        same = all(new is old for new, old in zip(items, node, strict=True))
        return node if same else type(node)(items)
    return node


_WRITTEN: Final = core_schema.plain_serializer_function_ser_schema(
    base64_text, return_schema=core_schema.str_schema(), when_used="json"
)
