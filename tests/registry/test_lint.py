from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from salvor.registry.lint import lint, sample_arguments
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool

Word = Annotated[str, Field(description="A word.", examples=["hail", "storm"])]


@tool(effect="read")
def whole(text: Word, limit: Annotated[int, Field(description="How many.")] = 3) -> list[str]:
    """Find."""
    return [text] * limit


@tool(effect="read")
def bare(text: str, labels: dict[str, int]) -> None:
    """Find.

    Args:
        labels: Their counts.
        texts: What to find.
    """


@tool(effect="read")
def contrary(count: Annotated[int, Field(description="How many.", examples=["many"])]) -> None:
    """Find."""


def test_a_tool_that_says_all_has_no_findings() -> None:
    assert lint(function_tool(whole)) == ()


def test_parameters_undescribed_or_missing_and_forms_that_refuse_are_found() -> None:
    undescribed, stale, form = lint(function_tool(bare))

    assert undescribed == "The parameter 'text' has no description."
    assert stale.startswith("The docstring describes 'texts', which is no parameter")
    assert form.startswith("It cannot be exported as openai-strict: /properties/labels")


def test_examples_that_the_tool_refuses_are_found() -> None:
    [found] = lint(function_tool(contrary))

    assert "refuses the examples of its own parameters" in found
    assert "/count" in found


def test_samples_are_examples_and_what_can_only_be_one_value() -> None:
    @tool(effect="read")
    def ask(kind: Literal["claim"], text: Word, more: int, limit: int = 3) -> None:
        """Ask."""

    assert sample_arguments(function_tool(whole)) == ({"text": "hail"}, ())
    assert sample_arguments(function_tool(ask)) == ({"kind": "claim", "text": "hail"}, ("more",))
