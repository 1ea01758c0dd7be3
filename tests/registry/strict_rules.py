"""OpenAI's published rules of strict mode, written down apart from what makes the form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

KEYWORDS = {
    "$defs", "$ref", "additionalProperties", "anyOf", "const", "description", "enum",
    "exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maxLength", "maximum",
    "minItems", "minLength", "minimum", "multipleOf", "pattern", "properties", "required",
    "title", "type",
}  # fmt: skip


def breaches(schema: Any) -> list[str]:
    """Every rule that a schema breaks."""
    found = list(_breaches(schema, ""))
    if schema.get("type") != "object" or "anyOf" in schema:
        found.append("the top level is no plain object")
    return found


def _breaches(node: Any, at: str) -> Iterator[str]:
    unknown = set(node) - KEYWORDS
    if unknown:
        yield f"{at}: {sorted(unknown)}"
    if "$ref" in node and len(node) > 1:
        yield f"{at}: a reference with siblings"
    if not {"type", "anyOf", "$ref"} & set(node):
        yield f"{at}: no type"
    kinds = node.get("type")
    if "object" in (kinds if isinstance(kinds, list) else [kinds]):
        if node.get("additionalProperties") is not False:
            yield f"{at}: open"
        if sorted(node.get("required", [])) != sorted(node.get("properties", {})):
            yield f"{at}: a field that is not required"
    for name, child in [*node.get("properties", {}).items(), *node.get("$defs", {}).items()]:
        yield from _breaches(child, f"{at}/{name}")
    for index, arm in enumerate(node.get("anyOf", [])):
        yield from _breaches(arm, f"{at}/{index}")
    if "items" in node:
        yield from _breaches(node["items"], f"{at}/items")


def instances(root: Any, node: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that fit a strict schema, as a model held to it writes them."""
    if "$ref" in node:
        name = node["$ref"].removeprefix("#/$defs/")
        return st.deferred(lambda: instances(root, root["$defs"][name], depth + 1))
    if "anyOf" in node:
        arms = node["anyOf"]
        if depth > 3 and {"type": "null"} in arms:
            return st.none()
        said = {"description": node.get("description", "")}
        held = [arm if "$ref" in arm else {**said, **arm} for arm in arms]
        return st.one_of([instances(root, arm, depth + 1) for arm in held])
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if "const" in node:
        return st.just(node["const"])
    kind = node["type"]
    if kind == "object":
        return st.fixed_dictionaries(
            {name: instances(root, child, depth + 1) for name, child in node["properties"].items()}
        )
    if kind == "array":
        most = 0 if depth > 3 else 2
        return st.lists(instances(root, node["items"], depth + 1), max_size=most)
    return _scalars(node)[kind]


def _scalars(node: Any) -> dict[str, st.SearchStrategy[Any]]:
    texts = {
        "date": st.dates().map(str),
        "date-time": st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    }
    text = st.text("abc", min_size=node.get("minLength", 0), max_size=node.get("maxLength", 5))
    if "contentEncoding" in node or "base64" in node.get("description", ""):
        text = st.just("aGk=")
    elif "pattern" in node:
        text = st.just("1.5")
    low = node.get("minimum", node.get("exclusiveMinimum", -9) + 1)
    return {
        "null": st.none(),
        "boolean": st.booleans(),
        "integer": st.integers(low, node.get("maximum", 99)),
        "number": st.integers(low, 99),
        "string": texts.get(node.get("format"), text),
    }
