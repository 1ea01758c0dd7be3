"""The error tree: one root, one code a class, a message made of what it knows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from salvor import errors, run_errors, store_errors
from salvor.errors import (
    ArgumentsRefused,
    DuplicateToolError,
    NotInjected,
    OutputRefused,
    Problem,
    RunStopped,
    SalvorError,
    ToolDefinitionError,
    ToolFailure,
    UnknownToolError,
)


def classes() -> Iterator[type[SalvorError]]:
    for module in (errors, run_errors, store_errors):
        for _, found in inspect.getmembers(module, inspect.isclass):
            if issubclass(found, SalvorError) and found.__module__ == module.__name__:
                yield found


def test_every_class_has_a_code_of_its_own() -> None:
    codes = [found.code for found in classes()]

    assert len(set(codes)) == len(codes)
    assert all("code" in vars(found) for found in classes())


def test_every_class_stands_in_the_tree_of_its_module() -> None:
    trees = {module.__name__: str(module.__doc__) for module in (errors, run_errors, store_errors)}

    assert [c.__name__ for c in classes() if c.__name__ not in trees[c.__module__]] == []


def test_a_hint_follows_the_message() -> None:
    assert str(SalvorError("It broke.", hint="Mend it.")) == "It broke. Mend it."
    assert str(SalvorError("It broke.")) == "It broke."


def test_a_definition_error_names_place_and_parameter() -> None:
    error = ToolDefinitionError("it has no type.", where="f.py:3 pay", parameter="a", hint="Do.")

    assert str(error) == "f.py:3 pay: parameter 'a': it has no type. Do."


def test_problems_are_listed_with_their_places() -> None:
    problems = (
        Problem(pointer="", expected="an object", got="5"),
        Problem(pointer="/a", expected="an integer", got="true"),
    )
    listed = "/: expected an object, got 5; /a: expected an integer, got true"

    assert str(ArgumentsRefused(tool="pay", problems=problems)).endswith(listed)
    assert str(OutputRefused(tool="pay", problems=problems)).endswith(listed)


def test_both_origins_of_a_duplicate_are_named() -> None:
    error = DuplicateToolError(name="pay", first="a.py:1 pay", second="b.py:2 pay")

    assert "a.py:1 pay and b.py:2 pay" in str(error)
    assert "prefix=" in str(error)


def test_an_unknown_tool_comes_with_its_neighbours() -> None:
    assert str(UnknownToolError(name="py", nearest=["pay", "spy"])).endswith("'pay' or 'spy'?")
    assert UnknownToolError(name="py").hint is None


@pytest.mark.parametrize(("happened", "extent"), [(False, "no"), (True, "yes"), (None, "unknown")])
def test_a_failure_has_the_extent_its_author_gives(happened: Any, extent: str) -> None:
    assert ToolFailure("it broke", happened=happened).extent == extent


def test_what_stops_a_run_is_caught_by_no_handler_of_errors() -> None:
    assert not issubclass(RunStopped, Exception)
    assert issubclass(NotInjected, Exception)
