"""The page on functions as tools: its code does what the page says."""

from __future__ import annotations

from typing import Any

import pytest

from examples.snippets.functions.forms import (
    count_claims,
    find_claims,
    list_regions,
    registry,
    warnings,
)
from salvor.errors import ArgumentsRefused


def properties(name: str) -> dict[str, Any]:
    found: Any = registry.get(name).input_schema["properties"]
    return dict(found)


def test_descriptions_come_from_the_hint_or_the_docstring() -> None:
    found: Any = registry.for_function(find_claims).input_schema["properties"]

    assert found["text"]["description"] == "What to look for."
    assert found["limit"]["description"] == "How many at most."
    assert found["since"]["description"] == "The first day, such as 2026-01-31."


def test_the_keys_of_a_typed_dict_are_parameters() -> None:
    found = registry.for_function(count_claims).input_schema

    assert list(found["properties"]) == ["text", "region", "status"]  # type: ignore[arg-type]
    assert found["required"] == ["text", "region"]


def test_what_a_partial_binds_is_settled() -> None:
    assert list(properties("transfer_from_ops")) == ["amount_cents"]
    assert list(properties("ask_north")) == ["text"]
    with pytest.raises(ArgumentsRefused, match="/account"):
        registry.get("transfer_from_ops").prepare({"amount_cents": 1, "account": "mine"})


def test_lint_says_what_may_be_meant() -> None:
    assert warnings() == (
        "The docstring describes 'prefx', which is no parameter (did you mean 'prefix'?).",
    )
    assert list_regions("n") == ["north"]
