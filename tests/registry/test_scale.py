"""Ten thousand tools: the same work for a lookup, and one order everywhere."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from salvor.errors import UnknownToolError
from salvor.registry.registry import Registry
from salvor.tools.function import FunctionTool
from tests.registry.sources import server

MANY = 10_000


class Compared(str):
    """A name that counts how often it is compared."""

    __slots__ = ("times",)
    times: int

    def __eq__(self, other: object) -> bool:
        self.times = getattr(self, "times", 0) + 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        return str.__hash__(self)


def many(count: int) -> list[FunctionTool]:
    [model] = server("mcp:big", "act")
    return [
        replace(model, name=f"tool_{index:05}", original_name=f"tool_{index:05}")
        for index in range(count)
    ]


@pytest.fixture(scope="module")
def large() -> Registry:
    made = Registry()
    made.merge(many(MANY))
    return made


@pytest.fixture(scope="module")
def small() -> Registry:
    made = Registry()
    made.merge(many(10))
    return made


def steps(work: Callable[[], Any]) -> int:
    """How many bytecode instructions a piece of work takes."""
    count = 0

    def trace(frame: FrameType, event: str, _arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "look",
    [
        lambda registry, name: registry.get(name),
        lambda registry, name: name in registry,
        lambda registry, name: registry.provenance(name),
        lambda registry, name: registry.of_source("mcp:big", name),
        lambda registry, name: registry.differences(name),
    ],
)
def test_a_lookup_takes_as_many_steps_among_many_as_among_few(
    large: Registry, small: Registry, look: Callable[[Registry, str], Any]
) -> None:
    name = Compared("tool_00007")

    assert steps(lambda: look(large, name)) == steps(lambda: look(small, name)) > 0
    assert getattr(name, "times", 0) <= 20  # two lookups, a handful of comparisons each


def test_adding_one_takes_as_many_steps_among_many_as_among_few(large: Registry) -> None:
    few = Registry()
    few.merge(many(10))
    full = Registry()
    full.merge(many(1_000))
    [fresh] = server("mcp:b", "fresh")

    assert steps(lambda: full.merge([fresh])) == steps(lambda: few.merge([fresh]))


def test_all_of_them_are_listed_in_order_and_every_one_listed_can_be_called(
    large: Registry,
) -> None:
    described = large.describe()

    assert len(described) == len(large) == MANY
    names = [str(one["name"]) for one in described]
    assert names == sorted(names)
    assert all(large.get(name).name == name for name in names)


def test_the_list_is_made_once_and_not_at_every_call(large: Registry) -> None:
    assert large.tools() is large.tools()


@pytest.fixture(params=range(3))
def shuffled(request: pytest.FixtureRequest) -> Iterator[list[FunctionTool]]:
    tools = many(50)
    random.Random(request.param).shuffle(tools)
    yield tools


def test_the_order_of_adding_shows_nowhere(shuffled: list[FunctionTool]) -> None:
    mixed, straight = Registry(), Registry()
    mixed.merge(shuffled)
    straight.merge(many(50))

    assert mixed.describe() == straight.describe()
    with pytest.raises(UnknownToolError) as first:
        mixed.get("tool_0005")
    with pytest.raises(UnknownToolError) as second:
        straight.get("tool_0005")
    assert str(first.value) == str(second.value)


def test_a_name_of_absurd_length_is_refused_without_a_search(large: Registry) -> None:
    with pytest.raises(UnknownToolError) as caught:
        large.get("tool_00001" * 10_000)

    assert caught.value.nearest == ()


def test_descriptors_are_copies_and_say_what_is_declared() -> None:
    registry = Registry()
    registry.add_function(lone, effect="read")
    registry.merge(server("mcp:a", "act"))
    output = deepcopy(registry.get("act").output_schema)

    act, alone = registry.describe()
    alone["input_schema"] = "spoilt"
    held: Any = act["input_schema"]
    held.clear()
    held = act["output_schema"]
    held["type"] = "spoilt"

    act, alone = registry.describe()
    assert list(act) == ["name", "description", "effect", "input_schema", "output_schema"]
    assert list(alone) == ["name", "description", "effect", "input_schema"]
    assert registry.get("act").output_schema == output
    assert act["input_schema"] == registry.get("act").input_schema != {}


def lone(name: str):  # type: ignore[no-untyped-def]
    """Stand alone."""
    return name


class Sender:
    """A callable that cannot be a key of a dictionary."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, name: str) -> None:
        """Send."""


def test_a_callable_that_cannot_be_hashed_is_a_tool_like_any_other() -> None:
    registry = Registry()

    added = registry.add_function(Sender(), effect="write", name="send")

    assert registry.get("send") is added
