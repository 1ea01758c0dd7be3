"""Definitions that are kept: what is done to one reaches no other, and none outlives its tool."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from salvor.errors import ExportRefused
from salvor.registry.exports import to_anthropic, to_form, to_mcp, to_openai
from salvor.registry.finished import Finished, copied
from salvor.registry.operators import Word
from salvor.registry.registry import Registry
from salvor.tools.contract import Effect
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject
from tests.registry.shapes import drawn, plain

FORMS: list[Any] = [
    to_mcp,
    to_anthropic,
    to_openai,
    partial(to_openai, strict=True),
    partial(to_openai, chat=True),
    partial(to_mcp, inline=True),
]


@dataclass(slots=True, weakref_slot=True, eq=False)
class Server:
    """What a server declares; compared by identity, so that it is kept."""

    input_schema: Any
    output_schema: JsonObject | None = None
    name: str = "act"
    description: str = "Act."
    effect: Effect = "write"


@dataclass(slots=True, eq=False)
class Unkept:
    """The same, and nothing can refer to it weakly."""

    input_schema: JsonObject
    output_schema: JsonObject | None = None
    name: str = "act"
    description: str = "Act."
    effect: Effect = "write"


def wiped(value: Any) -> None:
    for one in list(value.values()) if isinstance(value, dict) else list(value):
        if isinstance(one, dict | list):
            wiped(one)
    value.clear()


@pytest.mark.parametrize("form", FORMS)
def test_who_changes_a_definition_changes_none_that_is_handed_out_later(form: Any) -> None:
    found = Registry().for_function(drawn)
    first = form(found).definition
    before = deepcopy(first)

    wiped(first)
    second = form(found).definition
    assert second == before
    wiped(second)

    assert form(found).definition == before


def test_each_way_of_making_a_definition_is_kept_by_itself() -> None:
    found = Registry().for_function(drawn)
    fresh = [form(Registry().for_function(drawn)).definition for form in FORMS]

    assert [form(found).definition for form in FORMS] == fresh
    assert [form(found).definition for form in FORMS] == fresh


def test_what_an_exported_tool_knows_besides_its_definition_is_kept_too() -> None:
    found = Registry().add_function(listing, effect="read")

    for _ in range(2):
        exported = to_mcp(found)
        assert exported.tool is found
        assert (exported.form, exported.name, exported.wrapped) == ("mcp", "listing", True)
        assert exported.result(["a"]) == {"result": ["a"]}


def listing() -> list[str]:
    """List everything."""
    return []


def test_no_two_places_of_a_definition_are_one_object() -> None:
    tree: JsonObject = {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree"}}}
    server = Server({"$ref": "#/$defs/tree", "$defs": {"tree": tree}})

    for _ in range(2):
        schema: Any = to_mcp(server).definition["inputSchema"]
        schema["properties"].clear()

        assert schema["$defs"]["tree"] == tree


def test_the_operators_word_makes_another_tool_with_definitions_of_its_own() -> None:
    registry = Registry()
    declared = registry.for_function(plain)
    assert to_mcp(declared).definition["annotations"] == {"readOnlyHint": True}

    registry.operate({"plain": Word(effect="idempotent")})

    assert to_mcp(registry.get("plain")).definition["annotations"] == {
        "readOnlyHint": False,
        "idempotentHint": True,
    }
    assert to_mcp(declared).definition["annotations"] == {"readOnlyHint": True}


def test_a_definition_is_made_once_and_no_change_of_the_schema_reaches_it() -> None:
    server = Server({"type": "object", "properties": {"a": {"type": "string"}}})
    before = to_mcp(server).definition

    server.input_schema["properties"]["a"]["type"] = "integer"

    assert to_mcp(server).definition == before


def test_a_refusal_is_not_kept() -> None:
    server = Server({"type": "object"}, description="")
    with pytest.raises(ExportRefused, match="a description"):
        to_mcp(server)

    server.description = "Act."

    assert to_mcp(server).definition["description"] == "Act."


def test_what_cannot_be_referred_to_weakly_is_exported_each_time() -> None:
    unkept = Unkept({"type": "object", "properties": {}})
    first = to_mcp(unkept).definition
    wiped(first)

    assert to_mcp(unkept).definition["inputSchema"] == unkept.input_schema


@pytest.mark.parametrize("form", ["mcp", "openai"])
def test_tools_that_are_equal_are_not_taken_for_each_other(form: Any) -> None:
    @dataclass(frozen=True)
    class ByName(Described):
        name: str = "act"

    one, other = ByName(), ByName()
    object.__setattr__(other, "description", "Act otherwise.")
    assert one == other

    assert to_form(one, form).definition["description"] == "Act."
    assert to_form(other, form).definition["description"] == "Act otherwise."


class Described:
    """A tool that says the same whatever it is called."""

    description = "Act."
    effect: Effect = "read"
    input_schema: JsonObject = {"type": "object"}  # noqa: RUF012
    output_schema: JsonObject | None = None


def test_a_tool_that_nobody_needs_is_forgotten_with_its_definitions() -> None:
    found: FunctionTool | None = Registry().for_function(drawn)
    assert found is not None
    for form in FORMS:
        form(found)
    gone = weakref.ref(found)

    found = None
    gc.collect()

    assert gone() is None


def test_many_threads_that_list_the_same_tools_get_the_same_definitions() -> None:
    registry = Registry()
    tools = [registry.add_function(plain, effect="read", name=f"plain_{n}") for n in range(50)]
    alone = [to_form(tool, "openai").definition for tool in map(_again, tools)]

    def listed(_: int) -> list[JsonObject]:
        found = [to_form(tool, "openai").definition for tool in tools]
        made = deepcopy(found)
        wiped(found)
        return made

    with ThreadPoolExecutor(8) as pool:
        assert all(found == alone for found in pool.map(listed, range(32)))


def _again(tool: FunctionTool) -> FunctionTool:
    return Registry().add_function(plain, effect="read", name=tool.name)


def test_what_is_no_plain_json_is_left_out_of_what_is_kept() -> None:
    class Text(str):
        """A text that the interpreter's own form does not know."""

    finished, server = Finished(), Server({})
    finished.keep(server, "way", {"name": Text("act")}, False)
    assert finished.get(server, "way") is None

    finished.keep(server, "way", {"name": "act"}, True)
    assert finished.get(server, "way") == ({"name": "act"}, True)
    assert finished.get(server, "another way") is None


def test_a_copy_shares_nothing_and_keeps_every_value() -> None:
    one: JsonObject = {"a": [1, 1.0, True, None, "é", -(2**70)]}
    both: JsonObject = {"x": one, "y": [one, one]}

    made: Any = copied(both)

    assert repr(made) == repr(both)
    assert len({id(part) for part in (one, made["x"], *made["y"])}) == 4
