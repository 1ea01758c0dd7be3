"""References replaced by what they point at: on request, within a budget."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from salvor.errors import ExportRefused
from salvor.registry.exports import to_anthropic, to_mcp, to_openai
from salvor.registry.inlining import CannotInline, inlined
from salvor.registry.registry import Registry
from salvor.tools.check import SchemaCheck
from salvor.values import JsonObject
from tests.registry.declared import Declared
from tests.registry.shapes import drawn, kept, walked

NAME: JsonObject = {"type": "string", "minLength": 1}


def holding(node: Any, **definitions: Any) -> JsonObject:
    return {"type": "object", "properties": {"it": node}, "$defs": definitions}


@pytest.mark.parametrize("form", [to_mcp, to_anthropic, to_openai])
def test_references_stay_unless_it_is_asked_for(form: Any) -> None:
    found = Registry().for_function(kept)

    assert "$ref" in str(form(found).definition)
    assert "$ref" not in str(form(found, inline=True).definition)
    assert "$defs" not in str(form(found, inline=True).definition)


def test_a_recursive_schema_cannot_be_without_references() -> None:
    found = Registry().for_function(walked)

    with pytest.raises(ExportRefused, match="does not contain itself"):
        to_anthropic(found, inline=True)
    assert to_anthropic(found).name == "walked"


def test_inlining_goes_together_with_strict_mode() -> None:
    exported = to_openai(Registry().for_function(drawn), strict=True, inline=True)

    assert exported.arguments({"style": None, "fill": None}) == {"fill": None}


@pytest.mark.parametrize(
    ("node", "made"),
    [
        ({"$ref": "#/$defs/Name"}, NAME),
        ({"$ref": "#/$defs/Name", "description": "d"}, {**NAME, "description": "d"}),
        ({"$ref": "#/$defs/Name", "maxLength": 3}, {"allOf": [NAME], "maxLength": 3}),
        ({"$ref": "#/$defs/Yes"}, True),
        ({"$ref": "#/$defs/Yes", "description": "d"}, {"allOf": [True], "description": "d"}),
        ({"$ref": "#/$defs/a~1b%20c"}, NAME),
        ({"anyOf": [{"$ref": "#/$defs/Name"}, False]}, {"anyOf": [NAME, False]}),
        ({"const": {"$ref": "#/$defs/Gone"}}, {"const": {"$ref": "#/$defs/Gone"}}),
        ({"properties": {"$ref": NAME}}, {"properties": {"$ref": NAME}}),
        ({"default": {"$ref": "x"}, "enum": [{"$ref": "x"}]},) * 2,
        (
            {"$ref": "#/$defs/Name", "allOf": [{"maxLength": 3}]},
            {"allOf": [NAME, {"maxLength": 3}]},
        ),
    ],
    ids=str,
)
def test_what_a_reference_becomes(node: Any, made: Any) -> None:
    schema = holding(node, **{"Name": NAME, "Yes": True, "a/b c": NAME})
    before = deepcopy(schema)

    assert inlined(schema) == {"type": "object", "properties": {"it": made}}
    assert schema == before


@pytest.mark.parametrize("value", ["", "a", "abcd", 3, None])
@pytest.mark.parametrize("node", [{"maxLength": 3}, {"description": "d"}, {"type": "null"}])
def test_inlining_changes_no_meaning(node: JsonObject, value: Any) -> None:
    schema = holding({"$ref": "#/$defs/Name", **node}, Name=NAME)

    fits = SchemaCheck(schema).is_valid({"it": value})

    assert SchemaCheck(inlined(schema)).is_valid({"it": value}) == fits


def bomb(levels: int) -> JsonObject:
    definitions: JsonObject = {"L0": {"type": "string"}}
    for level in range(1, levels):
        below: JsonObject = {"$ref": f"#/$defs/L{level - 1}"}
        definitions[f"L{level}"] = {"anyOf": [below] * 10}
    return {"type": "object", "$ref": f"#/$defs/L{levels - 1}", "$defs": definitions}


def chain(length: int) -> JsonObject:
    definitions: JsonObject = {
        f"L{level}": {"items": {"$ref": f"#/$defs/L{level + 1}"}} for level in range(length)
    }
    definitions[f"L{length}"] = {"type": "string"}
    return holding({"$ref": "#/$defs/L0"}, **definitions)


def test_a_schema_that_grows_without_measure_stops_at_the_budget() -> None:
    with pytest.raises(CannotInline, match="at most 10,000 schemas"):
        inlined(bomb(12))
    with pytest.raises(CannotInline, match="at most 3 schemas"):
        inlined(holding({"anyOf": [NAME, NAME, NAME]}), budget=3)


def test_a_chain_of_references_is_no_deep_recursion() -> None:
    with pytest.raises(CannotInline, match="at most 50 schemas inside each other"):
        inlined(chain(5_000))
    assert inlined(chain(40))
    bare: JsonObject = {f"L{level}": {"$ref": f"#/$defs/L{level + 1}"} for level in range(5_000)}
    with pytest.raises(CannotInline, match="at most 50"):
        inlined(holding({"$ref": "#/$defs/L0"}, **bare))


def test_schemas_inside_each_other_are_counted_with_and_without_references() -> None:
    deep: JsonObject = {"type": "string"}
    for _ in range(30):
        deep = {"not": deep}

    assert inlined(holding(deep))
    with pytest.raises(CannotInline, match="at most 50 schemas inside each other"):
        inlined(holding(_on_top_of({"$ref": "#/$defs/Deep"}, 20), Deep=deep))


def _on_top_of(schema: JsonObject, levels: int) -> JsonObject:
    for _ in range(levels):
        schema = {"not": schema}
    return schema


def test_a_long_chain_of_definitions_is_strict_without_deep_recursion() -> None:
    schema = chain(3_000)
    definitions: Any = schema["$defs"]
    for definition in definitions.values():
        definition.setdefault("type", "array")

    exported = to_openai(Declared({**schema, "required": ["it"]}), strict=True)

    assert len(str(exported.definition)) > 3_000


@pytest.mark.parametrize("reference", ["#/$defs/Gone", "other.json", "#anchor", "#/type", 3])
def test_a_reference_to_nothing_is_named_with_its_place(reference: Any) -> None:
    with pytest.raises(CannotInline) as caught:
        inlined(holding({"$ref": reference}))

    assert caught.value.problem.pointer == "/properties/it"
