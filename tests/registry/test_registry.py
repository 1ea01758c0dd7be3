"""The registry: what is added, what is refused, and what is found."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from salvor.errors import DuplicateToolError, ToolDefinitionError, UnknownToolError
from salvor.registry.registry import Registry
from salvor.tools.decorator import tool


@tool(effect="read")
def find(name: str) -> str:
    """Find."""
    return name


@tool(effect="write", idempotency_key="claim")
def pay(claim: str) -> None:
    """Pay."""


def plain(name: str) -> None:
    """Do."""


def other(name: str) -> Any:
    @tool(effect="write", name=name)
    def tooled(a: int) -> None:
        """Do."""

    return tooled


class Desk:
    @tool(effect="read")
    def find(self, name: str) -> str:
        """Find."""
        return name

    @tool(effect="write", idempotency_key="claim")
    def pay(self, claim: str) -> None:
        """Pay."""

    @tool(effect="read")
    @classmethod
    def make(cls) -> None:
        """Make."""

    @staticmethod
    @tool(effect="read")
    def tell() -> None:
        """Tell."""

    def untold(self) -> None:
        """Do nothing of interest."""


@pytest.fixture
def module() -> Iterator[ModuleType]:
    made = ModuleType("billing_tools")
    sys.modules["billing_tools"] = made
    exec(
        "from salvor.tools.decorator import tool\n"
        "from collections import OrderedDict\n"
        "@tool(effect='read')\n"
        "def zebra(a: int) -> None:\n    'Z.'\n"
        "@tool(effect='read')\n"
        "def ant(a: int) -> None:\n    'A.'\n"
        "def plain(a: int) -> None:\n    'P.'\n"
        "again = ant\n",
        made.__dict__,
    )
    made.__dict__["foreign"] = find
    yield made
    del sys.modules["billing_tools"]


def test_a_function_is_added_and_found() -> None:
    registry = Registry()

    (added,) = registry.add(find)

    assert registry.get("find") is added
    assert registry.for_function(find) is added
    assert "find" in registry
    assert "pay" not in registry
    assert len(registry) == 1


def test_tools_come_sorted_by_name() -> None:
    registry = Registry()
    registry.add(pay)
    registry.add(find)

    assert [found.name for found in registry.tools()] == ["find", "pay"]
    assert list(registry) == list(registry.tools())


def test_a_module_gives_its_own_decorated_functions_once(module: ModuleType) -> None:
    registry = Registry()

    assert [found.name for found in registry.add(module, prefix="b_")] == ["b_ant", "b_zebra"]
    assert registry.get("b_ant").module == "billing_tools"


def test_a_module_without_tools_adds_nothing() -> None:
    assert Registry().add(ModuleType("empty")) == []


def test_an_instance_gives_its_decorated_methods() -> None:
    registry = Registry()
    desk = Desk()

    assert [found.name for found in registry.add(desk)] == ["find", "make", "pay", "tell"]
    assert registry.for_function(desk.find) is registry.get("find")
    assert list(registry.get("find").input_schema["properties"]) == ["name"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "reason"),
    [(Desk, "the class Desk"), (3, "a int has no method"), (len, "a function, a module or an")],
)
def test_what_holds_no_tools_is_refused(source: Any, reason: str) -> None:
    with pytest.raises(ToolDefinitionError, match=reason):
        Registry().add(source)


def test_an_undecorated_function_is_refused_with_what_to_do() -> None:
    with pytest.raises(ToolDefinitionError, match="add_function") as caught:
        Registry().add(plain)

    assert str(caught.value.where).endswith(" plain")


def test_foreign_code_is_added_with_its_options_said_outside() -> None:
    registry = Registry()

    added = registry.add_function(
        plain, effect="idempotent", name="other", idempotency_key="name", tags=["x"]
    )

    assert (added.name, added.effect, added.meta.tags) == ("other", "idempotent", ("x",))
    assert registry.for_function(plain) is added
    with pytest.raises(ToolDefinitionError, match="'read', 'idempotent' or 'write'"):
        registry.add_function(plain, effect="reads")  # type: ignore[arg-type]


def test_a_second_tool_of_one_name_is_refused_and_the_first_stays() -> None:
    registry = Registry()
    (first,) = registry.add(other("same"))

    with pytest.raises(DuplicateToolError) as caught:
        registry.add(other("same"))

    assert caught.value.first == first.origin
    assert caught.value.second.startswith(f"{__file__}:")
    assert registry.get("same") is first
    assert len(registry) == 1


def test_adding_the_same_function_again_changes_nothing() -> None:
    registry = Registry()

    assert registry.add(find) == registry.add(find)


def test_one_function_may_be_there_under_two_names() -> None:
    registry = Registry()
    (first,) = registry.add(pay)
    registry.add(pay, prefix="b_")

    assert len(registry) == 2
    assert registry.for_function(pay) is first


def test_all_tools_of_a_source_are_added_or_none(module: ModuleType) -> None:
    registry = Registry()
    registry.add(other("zebra"))

    with pytest.raises(DuplicateToolError):
        registry.add(module)

    assert [found.name for found in registry] == ["zebra"]
    module.__dict__["zebra"].__salvor_tool__ = None
    assert [found.name for found in registry.add(module)] == ["ant"]


def test_two_keyed_tools_may_not_claim_each_others_keys() -> None:
    registry = Registry()
    registry.add(pay)

    with pytest.raises(ToolDefinitionError, match="claim the same keys") as caught:
        registry.add(Desk(), prefix="desk_")

    assert "claim_scope=" in str(caught.value)
    assert len(registry) == 1


def test_a_claim_scope_tells_two_keyed_tools_apart() -> None:
    registry = Registry()
    registry.add(pay)

    @tool(effect="write", name="pay", idempotency_key="claim", claim_scope="desk")
    def elsewhere(claim: str) -> None:
        """Pay."""

    registry.add(elsewhere, prefix="desk_")

    assert [found.claim_scope for found in registry] == ["desk", "native/pay"]


def test_two_keyed_tools_of_one_source_are_told_apart_too() -> None:
    desks = [Desk(), Desk()]
    registry = Registry()
    registry.add(desks[0], prefix="a_")

    with pytest.raises(ToolDefinitionError, match="claim the same keys"):
        registry.add(desks[1], prefix="b_")


def test_an_unknown_name_comes_with_the_nearest() -> None:
    registry = Registry()
    registry.add(find)

    with pytest.raises(UnknownToolError, match="Did you mean 'find'"):
        registry.get("fnd")
    with pytest.raises(UnknownToolError) as caught:
        registry.get("something else")
    assert caught.value.nearest == ()


def test_a_decorated_function_that_nobody_added_is_added() -> None:
    registry = Registry()

    assert registry.for_function(find) is registry.get("find")


@pytest.mark.parametrize("thing", [plain, 3, [], len])
def test_what_is_no_tool_is_not_added(thing: Any) -> None:
    registry = Registry()

    with pytest.raises(ToolDefinitionError, match="is not a tool"):
        registry.for_function(thing)
    assert len(registry) == 0


def test_a_tool_that_cannot_be_built_stops_no_other_one() -> None:
    registry = Registry()

    @tool(effect="read")
    def broken(conn: Registry) -> None:
        """Do."""

    with pytest.raises(ToolDefinitionError, match="'conn'"):
        registry.add(broken)
    registry.add(find)

    assert len(registry) == 1
