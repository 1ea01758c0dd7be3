"""Literals that tell booleans from numbers, which Python and pydantic hold for equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic_core import PydanticKnownError, SchemaValidator, core_schema

# What holds no values: keys of an object are text, and pydantic itself reads it.
_SKIPPED: Final = frozenset(
    {"cls", "config", "expected", "keys_schema", "members", "metadata", "type"}
)


def lists_values(schema: Any) -> bool:
    """Whether a published schema lists values, so that it is worth a look."""
    if isinstance(schema, dict):
        return "enum" in schema or "const" in schema or any(map(lists_values, schema.values()))
    return isinstance(schema, list) and any(map(lists_values, schema))


def exact_validator(schema: Any, validator: Any) -> Any:
    """The validator of a type; one that is exact where the type lists 0, 1 or booleans.

    Args:
        schema: The core schema of the type.
        validator: What pydantic made of it, which may take ``true`` for 1.
    """
    changed = _exact(schema)
    return validator if changed is schema else SchemaValidator(changed, _use_prebuilt=False)


def _exact(node: Any) -> Any:
    """The node with guarded literals; itself, where nothing in it needs a guard."""
    if type(node) is dict:
        changed = {key: _exact(item) for key, item in node.items() if key not in _SKIPPED}
        same = all(changed[key] is node[key] for key in changed)
        node = node if same else {**node, **changed}
        values = _listed(node)
        return _guarded(node, values) if _ambiguous(values) else node
    if type(node) is list or type(node) is tuple:
        items = [_exact(item) for item in node]
        same = all(new is old for new, old in zip(items, node, strict=True))
        return node if same else type(node)(items)
    return node


def _listed(node: dict[str, Any]) -> Sequence[Any]:
    if node.get("type") == "literal":
        return list(node["expected"])
    if node.get("type") == "enum":
        return [member.value for member in node["members"]]
    return ()


def _ambiguous(values: Sequence[Any]) -> bool:
    return any(isinstance(value, int | float) and value in (0, 1) for value in values)


def _guarded(node: Any, values: Sequence[Any]) -> Any:
    guard = core_schema.no_info_before_validator_function(_guard(values), node)
    ref = node.get("ref")
    if ref is not None:
        guard = {**guard, "schema": {key: node[key] for key in node if key != "ref"}, "ref": ref}
    return guard


def _guard(values: Sequence[Any]) -> Callable[[Any], Any]:
    booleans = [value for value in values if type(value) is bool]
    shown = [repr(value) for value in values]
    expected = " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))

    def exact(value: Any) -> Any:
        if type(value) is bool and value not in booleans:
            raise PydanticKnownError("literal_error", {"expected": expected})
        return int(value) if type(value) is float and value.is_integer() else value

    return exact
