"""OpenAI's strict form: its rules, what it refuses, and the way back."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NotRequired

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from salvor.errors import ArgumentsRefused, ExportRefused
from salvor.registry.exports import Exported, to_openai
from salvor.registry.registry import Registry
from salvor.tools.decorator import tool
from salvor.values import JsonObject, JsonValue
from tests.registry.declared import Declared, taking
from tests.registry.shapes import STRICT, drawn, kept, measured, plain, walked
from tests.registry.strict_rules import breaches, instances


def strict(tool: Any) -> Exported:
    found = tool if isinstance(tool, Declared) else Registry().for_function(tool)
    return to_openai(found, strict=True)


def parameters(exported: Exported) -> Any:
    return exported.definition["parameters"]


REGISTRY = Registry()
EXPORTED = {made.__name__: strict(made) for made in STRICT}


def field(schema: Any, required: bool = True) -> Any:
    """What the strict form makes of one field."""
    declared = taking(it=schema)
    if not required:
        declared.input_schema["required"] = []
    return parameters(strict(declared))["properties"]["it"]


@pytest.mark.parametrize("made", STRICT, ids=lambda made: str(made.__name__))
def test_the_strict_form_breaks_no_published_rule(made: Any) -> None:
    exported = strict(made)

    assert exported.definition["strict"] is True
    assert breaches(parameters(exported)) == []


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
@pytest.mark.parametrize("made", STRICT, ids=lambda made: str(made.__name__))
def test_the_tool_accepts_whatever_the_strict_form_does(made: Any, data: st.DataObject) -> None:
    exported = EXPORTED[made.__name__]
    schema = parameters(exported)

    given = data.draw(instances(schema, schema))

    REGISTRY.for_function(made).prepare(exported.arguments(given))


def test_a_field_that_may_be_left_out_may_be_null_and_null_leaves_it_out() -> None:
    exported = strict(plain)

    assert parameters(exported)["properties"]["limit"] == {
        "description": "Default: 5. Null leaves it out.",
        "anyOf": [{"type": "integer"}, {"type": "null"}],
    }
    assert exported.arguments({"claim_id": "a", "note": None, "limit": None}) == {
        "claim_id": "a",
        "note": None,
    }


def test_what_is_given_comes_back_as_it_is() -> None:
    given: JsonObject = {"claim_id": "a", "note": "", "limit": 0}

    assert strict(plain).arguments(deepcopy(given)) == given
    odd: JsonObject = {"unknown": None, "limit": [None], "claim_id": None}
    assert strict(plain).arguments(deepcopy(odd)) == odd


def test_the_loose_form_leaves_null_alone() -> None:
    exported = to_openai(Registry().for_function(plain))

    assert exported.arguments({"claim_id": "a", "limit": None}) == {"claim_id": "a", "limit": None}


def test_a_reference_has_no_siblings_and_loses_nothing() -> None:
    fields = parameters(strict(drawn))["properties"]

    assert fields["style"] == {
        "description": 'how. Default: "dot". Null leaves it out.',
        "anyOf": [{"$ref": "#/$defs/Style"}, {"type": "null"}],
    }
    assert fields["fill"]["description"] == "inside"


def test_nulls_inside_lists_unions_and_recursive_models_leave_out_too() -> None:
    pets = strict(kept)
    places = strict(walked)

    assert pets.arguments(
        {
            "pet": {"kind": "cat", "lives": None},
            "other": {"kind": "dog", "name": None},
            "pets": [{"kind": "cat", "lives": None}, {"kind": "dog", "name": None}],
        }
    ) == {
        "pet": {"kind": "cat"},
        "other": {"kind": "dog", "name": None},
        "pets": [{"kind": "cat"}, {"kind": "dog", "name": None}],
    }
    assert places.arguments(
        {"place": {"name": "a", "inner": [{"name": "b", "inner": None}]}, "start": None}
    ) == {"place": {"name": "a", "inner": [{"name": "b"}]}, "start": None}


def test_a_null_that_could_mean_two_things_is_refused_at_the_call() -> None:
    number: JsonObject = {"type": "object", "properties": {"x": {"type": "integer"}}}
    null: JsonObject = {
        "type": "object",
        "properties": {"x": {"type": "null"}},
        "required": ["x"],
    }
    exported = strict(taking(it={"anyOf": [number, null]}))

    assert exported.arguments({"it": {"x": 1}}) == {"it": {"x": 1}}
    with pytest.raises(ArgumentsRefused) as caught:
        exported.arguments({"it": {"x": None}})
    assert caught.value.problems[0].pointer == "/it"


class Partial(TypedDict):
    name: str
    size: NotRequired[int]


def test_a_key_that_is_not_required_stays_so() -> None:
    @tool(effect="read")
    def look(at: Partial) -> None:
        """Look."""

    exported = strict(look)

    assert parameters(exported)["$defs"]["Partial"]["required"] == ["name", "size"]
    assert exported.arguments({"at": {"name": "a", "size": None}}) == {"at": {"name": "a"}}


def test_an_object_without_a_type_is_closed_and_whole() -> None:
    untyped = Declared({"properties": {"a": {"type": "string"}}})
    before = deepcopy(untyped.input_schema)

    assert parameters(strict(untyped)) == {
        "type": "object",
        "properties": {
            "a": {
                "description": "Null leaves it out.",
                "anyOf": [{"type": "string"}, {"type": "null"}],
            }
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert untyped.input_schema == before


def test_a_nullable_object_is_closed_and_whole() -> None:
    nullable = {"type": ["object", "null"], "properties": {"a": {"type": "string"}}}

    made = field(nullable)

    assert (made["required"], made["additionalProperties"]) == (["a"], False)
    assert made["type"] == ["object", "null"]


def test_one_of_that_can_only_mean_one_is_any_of() -> None:
    pet = parameters(strict(kept))["properties"]["pet"]

    assert pet == {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    assert field({"oneOf": [{"type": "string"}, {"type": "integer"}]}) == {
        "anyOf": [{"type": "string"}, {"type": "integer"}]
    }


@pytest.mark.parametrize(
    "second",
    [
        {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
        {"properties": {"kind": {"enum": ["b", "a"]}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "b"}}},
        {"properties": {"kind": {"type": "string"}}, "required": ["kind"]},
        {"properties": {"other": {"const": "b"}}, "required": ["other"]},
    ],
    ids=str,
)
def test_one_of_of_which_two_could_fit_is_refused(second: JsonObject) -> None:
    first = {
        "type": "object",
        "properties": {"kind": {"const": "a"}},
        "required": ["kind"],
        "additionalProperties": False,
    }

    with pytest.raises(ExportRefused, match="a value fits one only"):
        field({"oneOf": [first, {"type": "object", **second, "additionalProperties": False}]})


def test_what_every_arm_of_a_union_says_need_not_be_said_beside_it() -> None:
    arm = {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}

    assert set(field({"type": "object", "required": ["a"], "anyOf": [arm, arm]})) == {"anyOf"}
    with pytest.raises(ExportRefused, match="no required beside anyOf"):
        field({"required": ["b"], "anyOf": [arm, arm]})
    with pytest.raises(ExportRefused, match="no type beside anyOf"):
        field({"type": "string", "anyOf": [arm, arm]})


def test_a_lone_all_of_is_what_it_holds() -> None:
    assert field({"allOf": [{"type": "string"}], "description": "d"}) == {
        "description": "d",
        "anyOf": [{"type": "string"}],
    }


def test_choices_say_their_types() -> None:
    assert field({"enum": ["a", 1, True]})["type"] == ["boolean", "integer", "string"]
    assert field({"const": "a"}) == {"const": "a", "type": "string"}


def test_limits_of_values_stay() -> None:
    fields = parameters(strict(measured))["properties"]

    assert fields["day"] == {"format": "date", "type": "string"}
    assert fields["code"]["anyOf"][0] == {"maxLength": 4, "minLength": 2, "type": "string"}
    assert "Text in base64." in fields["blob"]["description"]


OPEN: JsonObject = {"type": "object", "additionalProperties": {}}
KNOWN: JsonObject = {"properties": {"a": {"type": "null"}}, "required": ["a"]}


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({}, ""),
        (True, ""),
        ({"description": "anything"}, ""),
        ({"minimum": 3}, ""),
        ({"type": "object"}, "/additionalProperties"),
        (OPEN, "/additionalProperties"),
        (
            {"properties": {"a": {"type": "null"}}, "required": ["a"], **OPEN},
            "/additionalProperties",
        ),
        ({"type": "object", "properties": {}, "required": ["a"]}, "/required"),
        ({"type": "object", "properties": {}, "minProperties": 1}, "/minProperties"),
        ({"type": "array"}, "/items"),
        ({"type": "array", "items": {}}, "/items"),
        ({"type": "array", "items": {"type": "null"}, "uniqueItems": True}, "/uniqueItems"),
        ({"type": "array", "items": {"type": "null"}, "contains": {}}, "/contains"),
        ({"type": "string", "format": "uri"}, "/format"),
        ({"type": "string", "not": {"const": "a"}}, "/not"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "/oneOf"),
        ({"oneOf": [{"type": "string"}, {"type": "string"}]}, "/oneOf"),
        ({"allOf": [{"type": "string"}, {"minLength": 1}]}, "/allOf"),
        ({"anyOf": [{"type": "string"}], "maxLength": 3}, "/maxLength"),
        ({"anyOf": [{"type": "string"}, {}]}, "/anyOf/1"),
    ],
    ids=str,
)
def test_what_strict_mode_cannot_say_is_refused_with_its_place(schema: Any, place: str) -> None:
    with pytest.raises(ExportRefused) as caught:
        field(schema)

    assert [problem.pointer for problem in caught.value.problems] == [f"/properties/it{place}"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"type": ["string", "null"], "default": "a"},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": "a"},
    ],
    ids=str,
)
def test_a_field_in_which_null_would_mean_two_things_is_refused(schema: Any) -> None:
    with pytest.raises(ExportRefused, match="null is a value of it"):
        field(schema, required=False)


def test_a_reference_with_a_limit_beside_it_is_refused() -> None:
    declared = taking(it={"$ref": "#/$defs/Name", "maxLength": 3})
    declared.input_schema["$defs"] = {"Name": {"type": "string"}}

    with pytest.raises(ExportRefused, match="no maxLength beside a reference"):
        strict(declared)


def test_a_schema_that_is_itself_or_something_else_can_be_left_out() -> None:
    declared = taking(it={"$ref": "#/$defs/A"})
    arms: list[JsonValue] = [{"$ref": "#/$defs/A"}, {"type": "string"}]
    declared.input_schema.update({"required": [], "$defs": {"A": {"anyOf": arms}}})

    assert strict(declared).arguments({"it": None}) == {}


def wide(count: int) -> JsonObject:
    return {f"f{index}": {"type": "null"} for index in range(count)}


def deep(levels: int) -> JsonObject:
    made: JsonObject = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"it": made}, "required": ["it"]}
    return made


def options(count: int, size: int = 1) -> JsonObject:
    return {"type": "string", "enum": [f"{index:0{size}}" for index in range(count)]}


@pytest.mark.parametrize(
    ("fits", "beyond"),
    [
        (wide(5_000), wide(5_001)),
        ({"it": deep(9)}, {"it": deep(10)}),
        ({"it": options(1_000)}, {"it": options(1_001)}),
        ({"it": options(251, 59)}, {"it": options(251, 60)}),
        ({"it": options(250, 400)}, {"it": options(250, 480)}),
    ],
    ids=["properties", "levels", "options", "long enum", "text"],
)
def test_the_published_limits_of_size_hold(fits: JsonObject, beyond: JsonObject) -> None:
    strict(taking(**fits))

    with pytest.raises(ExportRefused, match="at most"):
        strict(taking(**beyond))
