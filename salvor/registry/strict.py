"""OpenAI's strict form of a schema: the same values, in the words that strict mode knows.

What it cannot say is a problem, never a guess. Two things are said in another way: a field that
may be left out becomes one that may be null (`restored` turns such a null back into absence),
and annotations that strict mode refuses go into the description.
"""

from __future__ import annotations

from types import NoneType
from typing import Any, Final

from salvor.errors import Problem
from salvor.registry.schemas import constraints, takes_null, target
from salvor.tools.wording import got
from salvor.values import JsonObject, JsonValue, canonical_json, pointer

FORMATS: Final = frozenset({
    "date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid",
})  # fmt: skip
KEYWORDS: Final = frozenset({
    "additionalProperties", "anyOf", "const", "enum", "exclusiveMaximum", "exclusiveMinimum",
    "format", "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum",
    "multipleOf", "pattern", "properties", "required", "type",
})  # fmt: skip
_UNIONS = ("anyOf", "oneOf", "allOf")
_KINDS: Final = {
    NoneType: "null", bool: "boolean", int: "integer", float: "number", str: "string",
    list: "array", dict: "object",
}  # fmt: skip
_NULL: JsonObject = {"type": "null"}


def strict_form(schema: JsonObject) -> tuple[JsonObject, tuple[Problem, ...]]:
    """The strict form of an input schema, and everything that stands in its way."""
    return _Strict(schema).whole()


class _Strict:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._definitions: dict[str, JsonValue] = {}
        self._waiting: list[tuple[str, JsonValue]] = []
        self._problems: list[Problem] = []

    def whole(self) -> tuple[JsonObject, tuple[Problem, ...]]:
        root = {key: value for key, value in self._root.items() if key != "$defs"}
        made = self._node(root, "")
        while self._waiting:
            name, held = self._waiting.pop()
            self._definitions[name] = self._node(held, f"/$defs/{name}")
        if self._definitions:
            made["$defs"] = dict(sorted(self._definitions.items()))
        return made, tuple(self._problems)

    def _node(self, node: JsonValue, at: str) -> JsonObject:
        if not isinstance(node, dict) or not (constraints(node) or "$ref" in node):
            self._refuse(at, "a type", "a schema that takes any value")
            return {}
        made = self._said(node)
        if "$ref" in node:
            return self._reference(node, made, at)
        union = [key for key in _UNIONS if key in node]
        if union:
            return self._union(node, made, at, union[0])
        self._check_keywords(node, at)
        made.update(self._plain(node, at))
        if "object" in _kinds(made):
            self._object(node, made, at)
        if "array" in _kinds(made):
            made["items"] = self._items(node, at)
        return made

    def _said(self, node: JsonObject) -> JsonObject:
        """Title and description, which say what strict mode has no keyword for."""
        said = [str(node["description"])] if node.get("description") else []
        if node.get("contentEncoding") == "base64":
            said.append("Text in base64.")
        if node.get("default") is not None:
            said.append(f"Default: {canonical_json(node['default'])}.")
        made: JsonObject = {"title": node["title"]} if "title" in node else {}
        return {**made, "description": _sentences(said)} if said else made

    def _reference(self, node: JsonObject, made: JsonObject, at: str) -> JsonObject:
        name = str(node["$ref"]).removeprefix("#/$defs/")
        self._refuse_others(constraints(node), at, "beside a reference")
        try:
            held = target(self._root, node["$ref"])
        except (LookupError, TypeError):
            held = None
        if held is None or node["$ref"] != f"#/$defs/{name}" or "/" in name:
            self._refuse(at, "a reference such as #/$defs/NAME", repr(node["$ref"]))
            return made
        if name not in self._definitions:
            self._definitions[name] = None
            self._waiting.append((name, held))
        here: JsonObject = {"$ref": node["$ref"]}
        return {**made, "anyOf": [here]} if made else here

    def _union(self, node: JsonObject, made: JsonObject, at: str, key: str) -> JsonObject:
        arms = node[key]
        held = [self._held(arm) for arm in arms] if isinstance(arms, list) else []
        others = [one for one in constraints(node) if one != key and not _implied(one, node, held)]
        self._refuse_others(others, at, f"beside {key}")
        place = pointer(at, key)
        if not isinstance(arms, list) or not arms or (key == "allOf" and len(arms) > 1):
            self._refuse(place, "anyOf, or allOf with one schema", got(arms))
            return made
        if key == "oneOf" and not _apart(held):
            self._refuse(place, "anyOf, or schemas of which a value fits one only", "oneOf")
        said = [self._node(arm, pointer(place, index)) for index, arm in enumerate(arms)]
        return {**made, "anyOf": list(said)}

    def _plain(self, node: JsonObject, at: str) -> JsonObject:
        kept = {key: value for key, value in node.items() if key in KEYWORDS}
        options = node.get("enum", [node["const"]] if "const" in node else None)
        if "type" not in kept and isinstance(options, list):
            kinds = sorted({_KINDS[type(option)] for option in options})
            kept["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        elif "type" not in kept and isinstance(node.get("properties"), dict):
            kept["type"] = "object"
        if not _kinds(kept):
            self._refuse(at, "a type", "none")
        if "format" in node and node["format"] not in FORMATS:
            known = ", ".join(sorted(FORMATS))
            self._refuse(pointer(at, "format"), f"one of {known}", got(node["format"]))
        return kept

    def _object(self, node: JsonObject, made: JsonObject, at: str) -> None:
        fields = node.get("properties", {})
        extra = node.get("additionalProperties", "properties" not in node)
        required = node.get("required", [])
        if extra is not False:
            self._refuse(
                pointer(at, "additionalProperties"),
                "an object whose fields are all named",
                "an object of any fields",
            )
        if not isinstance(fields, dict) or not isinstance(required, list):
            self._refuse(at, "properties and a list of required ones", got(node))
            return
        for name in required:
            if name not in fields:
                self._refuse(pointer(at, "required"), "fields that are named", got(name))
        place = pointer(at, "properties")
        made["properties"] = {
            name: self._field(child, name in required, pointer(place, name))
            for name, child in fields.items()
        }
        made["required"] = list(fields)
        made["additionalProperties"] = False

    def _field(self, child: JsonValue, required: bool, at: str) -> JsonValue:
        made = self._node(child, at)
        if required or not made or not isinstance(child, dict):
            return made
        if not takes_null(self._root, child):
            return _nullable(made)
        if "default" not in child or child["default"] is not None:
            came = "null is a value of it, and not its default"
            self._refuse(at, "a field of which null can say that it is left out", came)
        return made

    def _items(self, node: JsonObject, at: str) -> JsonValue:
        if isinstance(node.get("items"), dict):
            return self._node(node["items"], pointer(at, "items"))
        self._refuse(pointer(at, "items"), "a schema of the items", got(node.get("items")))
        return {}

    def _held(self, node: JsonValue) -> JsonObject:
        for _ in range(100):
            if not isinstance(node, dict) or "$ref" not in node:
                break
            try:
                node = target(self._root, node["$ref"])
            except (LookupError, TypeError):
                return {}
        return node if isinstance(node, dict) else {}

    def _check_keywords(self, node: JsonObject, at: str) -> None:
        self._refuse_others(
            [key for key in constraints(node) if key not in (*KEYWORDS, "contentEncoding")],
            at,
            "in strict mode",
        )

    def _refuse_others(self, keywords: list[str], at: str, where: str) -> None:
        for key in keywords:
            self._refuse(pointer(at, key), f"no {key} {where}", "it")

    def _refuse(self, at: str, expected: str, came: str) -> None:
        self._problems.append(Problem(pointer=at, expected=expected, got=came))


def _kinds(node: JsonObject) -> frozenset[str]:
    kinds = node.get("type")
    if isinstance(kinds, str):
        return frozenset({kinds})
    return frozenset(map(str, kinds)) if isinstance(kinds, list) else frozenset()


def _widened(kinds: frozenset[str]) -> frozenset[str]:
    # An integer is a number as well, so the two are not apart.
    return kinds - {"integer"} | {"number"} if "integer" in kinds else kinds


def _fields(node: JsonObject) -> dict[str, Any]:
    fields = node.get("properties")
    return fields if isinstance(fields, dict) else {}


def _apart(arms: list[JsonObject]) -> bool:
    """Whether no value fits two of the arms, so that oneOf and anyOf are the same."""
    kinds = [_widened(_kinds(arm)) for arm in arms]
    if all(kinds) and sum(map(len, kinds)) == len(frozenset().union(*kinds)):
        return True
    return any(_tells(name, arms) for name in _fields(arms[0]))


def _implied(keyword: str, node: JsonObject, arms: list[JsonObject]) -> bool:
    """Whether a keyword beside a union says only what each of its arms says already."""
    if keyword == "type":
        return all(_kinds(arm) and _kinds(arm) <= _kinds(node) for arm in arms)
    return keyword == "required" and all(
        _kinds(arm) == {"object"} and set(_required(node)) <= set(_required(arm)) for arm in arms
    )


def _tells(name: str, arms: list[JsonObject]) -> bool:
    """Whether the text in one required field says which arm a value belongs to."""
    seen: list[str] = []
    for arm in arms:
        child = _fields(arm).get(name)
        if _kinds(arm) != {"object"} or name not in _required(arm) or not isinstance(child, dict):
            return False
        options = child.get("enum", [child["const"]] if "const" in child else None)
        if not isinstance(options, list) or not all(isinstance(one, str) for one in options):
            return False
        seen += options
    return len(seen) == len(set(seen))


def _required(node: JsonObject) -> list[Any]:
    required = node.get("required")
    return required if isinstance(required, list) else []


def _sentences(said: list[str]) -> str:
    if len(said) == 1:
        return said[0]
    return " ".join(
        part if part.rstrip().endswith((".", "!", "?")) else f"{part}." for part in said
    )


def _nullable(made: JsonObject) -> JsonObject:
    outside: JsonObject = {key: made[key] for key in ("title", "description") if key in made}
    inside = {key: value for key, value in made.items() if key not in outside}
    said = [str(outside["description"])] if "description" in outside else []
    outside["description"] = _sentences([*said, "Null leaves it out."])
    arms = inside["anyOf"] if inside.keys() == {"anyOf"} else [inside]
    assert isinstance(arms, list)
    return {**outside, "anyOf": [*arms, dict(_NULL)]}
