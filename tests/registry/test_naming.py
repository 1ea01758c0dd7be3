"""Names and selections as data, several sources in one registry, and the way back."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from salvor.errors import DuplicateToolError, ToolDefinitionError
from salvor.registry.exports import catalogue, to_anthropic
from salvor.registry.naming import Naming, Selection
from salvor.registry.registry import Registry
from salvor.tools.decorator import tool
from tests.registry.sources import named, server


@tool(effect="read")
def search(text: str) -> None:
    """Search."""


class Desk:
    @tool(effect="read")
    def find(self, name: str) -> None:
        """Find."""

    @tool(effect="write")
    def pay(self, name: str) -> None:
        """Pay."""

    @tool(effect="write")
    def odd(self, conn: ModuleType) -> None:
        """Do what cannot be described."""


def test_sources_that_share_a_name_conflict_and_both_are_named() -> None:
    registry = Registry()
    registry.add(search)

    with pytest.raises(DuplicateToolError) as caught:
        registry.merge(server("mcp:a", "search"))

    assert "test_naming.py:" in caught.value.first
    assert caught.value.second == "search of mcp:a (mcp:a tools)"
    assert registry.get("search").source_id == "native"


def test_prefixes_make_all_of_them_callable_under_the_names_of_their_sources() -> None:
    registry = Registry()
    registry.add(search)
    registry.merge(server("mcp:a", "search", naming=Naming(prefix="a_")))
    registry.merge(server("mcp:b", "search", naming=Naming(rename={"search": "look"})))

    assert named(registry) == ["a_search", "look", "search"]
    assert registry.provenance("look").source_id == "mcp:b"
    assert registry.provenance("look").original_name == "search"
    assert registry.of_source("mcp:a", "search") == (registry.get("a_search"),)
    assert registry.of_source("mcp:a", "a_search") == ()


def test_one_original_may_have_several_names_in_the_order_of_adding() -> None:
    registry = Registry()
    registry.add(search, prefix="z_")
    registry.add(search, prefix="a_")

    assert [one.name for one in registry.of_source("native", "search")] == ["z_search", "a_search"]


def test_a_name_no_provider_takes_is_adapted_exported_and_mapped_back() -> None:
    registry = Registry()
    registry.merge(server("mcp:cal", "cal.event/update", naming=Naming(adapt=True)))

    [definition] = catalogue(registry, to_anthropic).definitions
    called: Any = catalogue(registry, to_anthropic).get(str(definition["name"])).tool

    assert definition["name"] == "cal_event_update"
    assert called.original_name == "cal.event/update"
    assert registry.of_source("mcp:cal", "cal.event/update") == (called,)


def test_a_name_that_is_not_adapted_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match=r"cal\.event of mcp:cal"):
        server("mcp:cal", "cal.event")


def test_names_that_become_one_are_refused_and_never_numbered() -> None:
    with pytest.raises(DuplicateToolError) as caught:
        server("mcp:a", "a.b", "a/b", naming=Naming(adapt=True))

    assert (caught.value.first, caught.value.second) == ("a.b of mcp:a", "a/b of mcp:a")
    assert "rename" in str(caught.value)


def test_a_prefix_may_not_make_two_names_one() -> None:
    registry = Registry()
    registry.merge(server("mcp:a", "b_c", naming=Naming(prefix="a_")))

    with pytest.raises(DuplicateToolError, match="'a_b_c'"):
        registry.merge(server("mcp:b", "c", naming=Naming(prefix="a_b_")))


def test_names_that_differ_in_capitals_only_are_refused() -> None:
    registry = Registry()
    registry.merge(server("mcp:a", "Pay"))

    with pytest.raises(DuplicateToolError, match="more than their capitals") as caught:
        registry.merge(server("mcp:b", "pay"))
    assert "'Pay'" in caught.value.first
    with pytest.raises(DuplicateToolError):
        Registry().merge([*server("mcp:a", "Pay"), *server("mcp:b", "pay")])


@pytest.mark.parametrize("name", ["a" * 65, "a\n", "größe", "_salvor_x", "salvor_answer", ""])
def test_a_new_name_has_to_be_one(name: str) -> None:
    with pytest.raises(ToolDefinitionError):
        server("mcp:a", "act", naming=Naming(rename={"act": name}))
    with pytest.raises(ToolDefinitionError):
        Registry().add(search, naming=Naming(rename={"search": name}))


def test_a_name_too_long_with_its_prefix_is_refused_and_never_cut() -> None:
    with pytest.raises(ToolDefinitionError, match="1 to 64"):
        server("mcp:a", "a" * 60, naming=Naming(prefix="server_"))


def test_an_object_gives_what_is_selected_under_the_names_it_is_given() -> None:
    registry = Registry()

    added = registry.add(
        Desk(),
        naming=Naming(prefix="desk_", rename={"pay": "pay_claim"}),
        selection=Selection(exclude=("o*",)),
    )

    assert [one.name for one in added] == ["desk_find", "pay_claim"]
    assert registry.provenance("pay_claim").original_name == "pay"


def test_what_is_excluded_is_not_even_looked_at() -> None:
    with pytest.raises(ToolDefinitionError, match="conn"):
        Registry().add(Desk())

    assert Registry().add(Desk(), selection=Selection(include=("find", "pay")))


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), ["get_issue", "get_issues", "list"]),
        (Selection(include=("get_issue",)), ["get_issue"]),
        (Selection(include=("get_*",), exclude=("*s",)), ["get_issue"]),
        (Selection(exclude=("get_issue?",)), ["get_issue", "list"]),
        (Selection(include=()), []),
    ],
)
def test_a_pattern_covers_what_it_says_and_no_more(selection: Selection, taken: list[str]) -> None:
    assert list(selection.of(["get_issue", "get_issues", "list"])) == taken


@pytest.mark.parametrize(
    "selection", [Selection(include=("get_isue",)), Selection(exclude=("get_isue",))]
)
def test_a_pattern_that_covers_nothing_was_meant_otherwise(selection: Selection) -> None:
    with pytest.raises(ToolDefinitionError, match="Did you mean 'get_issue'"):
        selection.of(["list", "get_issue"])
    with pytest.raises(ToolDefinitionError, match="There are: a, b"):
        Selection(include=("zzz",)).of(["b", "a"])
    with pytest.raises(ToolDefinitionError, match="has no tools"):
        Selection(include=("zzz",)).of([])


def test_a_new_name_for_a_tool_that_is_not_there_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="Did you mean 'find'"):
        Registry().add(
            Desk(),
            naming=Naming(rename={"fnd": "look"}),
            selection=Selection(exclude=("odd",)),
        )


def test_a_prefix_and_a_naming_are_one_too_many() -> None:
    with pytest.raises(ToolDefinitionError, match="got both"):
        Registry().add(search, "a_", naming=Naming())


def test_a_tool_stands_in_for_another_only_where_that_is_said() -> None:
    registry = Registry()
    registry.add(search)
    [other] = server("mcp:a", "search")

    with pytest.raises(DuplicateToolError):
        registry.merge([other])
    registry.merge([other], replace=True)

    assert registry.get("search") is other
    assert registry.of_source("native", "search") == ()
    with pytest.raises(DuplicateToolError):
        registry.for_function(search)


def test_a_tool_that_replaces_itself_changes_nothing() -> None:
    registry = Registry()
    [first] = registry.add(search)

    assert registry.add(search, replace=True) == [first]
    assert registry.add_function(search, effect="write", replace=True).effect == "write"
    assert len(registry) == 1


def test_a_failing_replacement_leaves_everything_as_it_was() -> None:
    registry = Registry()
    [first] = registry.add(search)
    twins = [*server("mcp:a", "search"), *server("mcp:b", "search")]

    with pytest.raises(DuplicateToolError):
        registry.merge(twins, replace=True)

    assert registry.tools() == (first,)
