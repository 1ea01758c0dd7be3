"""Exports: each form by the rules its provider publishes."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from salvor.errors import ExportRefused, UnknownToolError
from salvor.registry.exports import Exported, catalogue, to_anthropic, to_mcp, to_openai
from salvor.registry.registry import Registry
from salvor.tools.check import SchemaCheck
from salvor.tools.decorator import tool
from salvor.values import JsonObject
from tests.registry.declared import Declared, taking
from tests.registry.shapes import Place, drawn, everything, plain

FORMS = [
    to_mcp,
    to_anthropic,
    to_openai,
    partial(to_openai, chat=True),
    partial(to_openai, strict=True),
    partial(to_openai, strict=True, chat=True),
]
LOOSE = FORMS[:4]


def schema_of(exported: Exported) -> JsonObject:
    definition = exported.definition
    function: Any = definition.get("function", definition)
    found: Any = next(
        function[key] for key in ("inputSchema", "input_schema", "parameters") if key in function
    )
    assert isinstance(found, dict)
    return found


def test_mcp_gives_names_schemas_and_hints() -> None:
    definition = to_mcp(Registry().for_function(plain)).definition

    assert sorted(definition) == [
        "annotations",
        "description",
        "inputSchema",
        "name",
        "outputSchema",
    ]
    assert definition["annotations"] == {"readOnlyHint": True}


@pytest.mark.parametrize(
    ("effect", "hints"),
    [
        ("read", {"readOnlyHint": True}),
        ("idempotent", {"readOnlyHint": False, "idempotentHint": True}),
        ("write", {"readOnlyHint": False, "idempotentHint": False}),
    ],
)
def test_mcp_hints_say_the_effect_and_nothing_else(effect: Any, hints: JsonObject) -> None:
    assert to_mcp(Declared(effect=effect)).definition["annotations"] == hints


def test_anthropic_and_openai_give_three_fields_and_their_envelope() -> None:
    found = Registry().for_function(plain)

    assert sorted(to_anthropic(found).definition) == ["description", "input_schema", "name"]
    assert to_openai(found).definition == {
        "type": "function",
        "name": "plain",
        "description": "Look a claim up.",
        "parameters": found.input_schema,
        "strict": False,
    }
    chat: Any = to_openai(found, chat=True).definition
    assert sorted(chat) == ["function", "type"]
    assert chat["function"]["name"] == "plain"


@pytest.mark.parametrize("form", LOOSE)
def test_what_a_loose_form_says_is_the_tools_own_schema(form: Any) -> None:
    found = Registry().for_function(everything)

    made = schema_of(form(found))

    assert {**made, "properties": None} == {**found.input_schema, "properties": None}
    fields: Any = made["properties"]
    own: Any = found.input_schema["properties"]
    for name, child in fields.items():
        assert {**child, "items": None} == {**own[name], "items": None}


@pytest.mark.parametrize("form", [*FORMS, partial(to_anthropic, inline=True)])
@pytest.mark.parametrize("made", [plain, drawn])
def test_an_export_never_touches_the_tools_schemas(form: Any, made: Any) -> None:
    found = Registry().for_function(made)
    before = deepcopy((found.input_schema, found.output_schema))

    definition = form(found).definition
    wipe(definition)

    assert (found.input_schema, found.output_schema) == before


def wipe(value: Any) -> None:
    held = list(value.values()) if isinstance(value, dict) else list(value)
    for one in held:
        if isinstance(one, dict | list):
            wipe(one)
    value.clear()


@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_the_same_every_time(form: Any) -> None:
    assert (
        form(Registry().for_function(plain)).definition
        == form(Registry().for_function(plain)).definition
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["a" * 129, "with space", "größe", "a\n", ""])
def test_a_name_the_provider_refuses_is_refused_here(form: Any, name: str) -> None:
    with pytest.raises(ExportRefused, match="a name of 1 to"):
        form(Declared(name=name))


@pytest.mark.parametrize("form", [to_anthropic, to_openai])
def test_providers_take_fewer_names_than_mcp(form: Any) -> None:
    dotted = Declared(name="cal.event")

    assert to_mcp(dotted).name == "cal.event"
    with pytest.raises(ExportRefused, match="1 to 64"):
        form(dotted)
    with pytest.raises(ExportRefused, match="1 to 64"):
        form(Declared(name="a" * 65))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array"},
        {"type": "nonsense"},
        {"type": "object", "$ref": "https://example.com/schema"},
        {"$ref": "#/$defs/Gone"},
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"pattern": "(?=a)"}}},
    ],
    ids=str,
)
def test_a_schema_that_is_none_is_refused(form: Any, schema: JsonObject) -> None:
    with pytest.raises(ExportRefused) as caught:
        form(Declared(schema))

    assert caught.value.tool == "act"
    assert caught.value.problems


@pytest.mark.parametrize("form", FORMS)
def test_a_schema_nested_without_measure_is_refused(form: Any) -> None:
    nested: JsonObject = {"type": "null"}
    for _ in range(2_000):
        nested = {"not": nested}

    with pytest.raises(ExportRefused, match="nested"):
        form(taking(it=nested))


@pytest.mark.parametrize("form", FORMS)
def test_a_tool_without_a_description_is_refused(form: Any) -> None:
    with pytest.raises(ExportRefused, match="a description"):
        form(Declared(description=" \n"))


UNION: JsonObject = {
    "type": "object",
    "anyOf": [
        {"properties": {"content": {"type": "string"}}, "required": ["content"]},
        {"properties": {"url": {"type": "string"}}, "required": ["url"]},
    ],
}


@pytest.mark.parametrize("form", [to_anthropic, *FORMS[2:]])
def test_a_union_at_the_top_leaves_out_one_tool_and_no_other(form: Any) -> None:
    others = [Declared(name="zebra"), Declared(UNION, name="post"), Declared(name="ant")]
    if form in FORMS[4:]:
        others = [taking(), Declared(UNION, name="post")]

    found = catalogue(others, form)

    assert [one.name for one in found.exported] == sorted(
        one.name for one in others if one.name != "post"
    )
    [refusal] = found.left_out
    assert "no anyOf at the top level" in str(refusal)
    assert refusal.problems[0].pointer == "/anyOf"


def test_mcp_takes_a_union_at_the_top() -> None:
    assert schema_of(to_mcp(Declared(UNION))) == UNION


@pytest.mark.parametrize("form", [to_openai])
@pytest.mark.parametrize("key", ["enum", "not", "oneOf", "allOf"])
def test_openai_takes_no_choice_at_the_top(form: Any, key: str) -> None:
    held: Any = {} if key == "not" else [{}]
    with pytest.raises(ExportRefused, match=f"no {key} at the top level"):
        form(Declared({"type": "object", key: held}))


def test_openai_is_given_the_empty_words_it_asks_for() -> None:
    pair: JsonObject = {"type": ["array", "null"], "prefixItems": [{"type": "integer"}]}

    assert schema_of(to_openai(Declared({"type": "object"}))) == {
        "type": "object",
        "properties": {},
    }
    fields: Any = schema_of(to_openai(taking(at=pair)))["properties"]
    assert fields["at"] == {**pair, "items": {}}


def test_anthropic_takes_ascii_fields_only() -> None:
    with pytest.raises(ExportRefused) as caught:
        to_anthropic(taking(**{"größe": {"type": "integer"}, "filter[id]": {"type": "string"}}))

    assert [problem.pointer for problem in caught.value.problems] == [
        "/properties/größe",
        "/properties/filter[id]",
    ]


@pytest.mark.parametrize("form", LOOSE)
def test_a_reference_at_the_top_is_opened_once(form: Any) -> None:
    node: JsonObject = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    }

    made = schema_of(form(Declared({"$ref": "#/$defs/Node", "$defs": {"Node": node}})))

    assert made == {**node, "$defs": {"Node": node}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "maxProperties": 1, "$defs": {"A": {"type": "object"}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
    ],
    ids=["a limit beside it", "a circle"],
)
def test_a_reference_at_the_top_that_cannot_be_opened_is_refused(
    form: Any, schema: JsonObject
) -> None:
    with pytest.raises(ExportRefused, match="a schema of an object"):
        form(Declared(schema))


@pytest.mark.parametrize("form", LOOSE)
def test_arguments_without_a_type_are_an_object(form: Any) -> None:
    made = schema_of(form(Declared({"properties": {"a": {"type": "string"}}})))

    assert made == {"properties": {"a": {"type": "string"}}, "type": "object"}


def listing() -> list[Place]:
    """Places."""
    return []


def tree() -> Place:
    """A place."""
    return Place(name="a")


def test_an_mcp_result_that_is_no_object_is_wrapped_in_one() -> None:
    registry = Registry()
    exported = to_mcp(registry.add_function(listing, effect="read"))
    output: Any = exported.definition["outputSchema"]

    assert output["type"] == "object"
    value = exported.result([{"name": "a", "inner": []}])
    assert SchemaCheck(output).problems(value) == ()
    assert SchemaCheck(output).problems(exported.result([{"name": 1}])) != ()


def test_an_mcp_result_that_is_an_object_stays_as_it_is() -> None:
    exported = to_mcp(Registry().add_function(tree, effect="read"))
    output: Any = exported.definition["outputSchema"]

    assert not exported.wrapped
    assert output["type"] == "object"
    assert exported.result({"name": "a"}) == {"name": "a"}


def test_a_reference_to_the_top_follows_what_is_wrapped() -> None:
    nested: JsonObject = {"type": "array", "items": {"$ref": "#"}}

    output: Any = to_mcp(Declared(output_schema=nested)).definition["outputSchema"]

    assert output["properties"]["result"]["items"] == {"$ref": "#/properties/result"}
    assert SchemaCheck(output).is_valid({"result": [[], [[]]]})
    assert not SchemaCheck(output).is_valid({"result": [1]})


def test_no_output_schema_is_given_where_none_is_declared() -> None:
    assert "outputSchema" not in to_mcp(Declared()).definition


def test_a_catalogue_is_in_order_and_maps_names_back() -> None:
    registry = Registry()
    registry.add(plain, prefix="z_")
    registry.add(plain, prefix="a_")

    found = catalogue(registry, to_anthropic)

    assert [one["name"] for one in found.definitions] == ["a_plain", "z_plain"]
    assert found.get("z_plain").tool is registry.get("z_plain")
    with pytest.raises(UnknownToolError, match="Did you mean 'a_plain'"):
        found.get("a_plan")


def test_all_that_stands_in_the_way_is_said_at_once() -> None:
    @tool(effect="read")
    def loose(pairs: dict[str, int], at: tuple[int, int], ids: set[int]) -> None:
        """Look."""

    with pytest.raises(ExportRefused) as caught:
        to_openai(Registry().for_function(loose), strict=True)

    assert {problem.pointer for problem in caught.value.problems} == {
        "/properties/pairs/additionalProperties",
        "/properties/at/prefixItems",
        "/properties/at/items",
        "/properties/ids/uniqueItems",
    }
    assert caught.value.form == "openai-strict"
    assert "without strict=True" in str(caught.value)
