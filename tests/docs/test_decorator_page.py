"""The page on the decorator: its code does what the page says, and no option is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.snippets.decorator.options import thread_of_the_loop, transfer
from salvor.errors import ToolDefinitionError, ToolFailed
from salvor.testing.authors import call
from salvor.tools.decorator import OPTIONS, tool, tool_meta

PAGE = (Path(__file__).parents[2] / "docs/reference/decorator.md").read_text()


def test_every_option_is_in_the_table() -> None:
    assert [name for name in sorted({"effect", *OPTIONS}) if f"| `{name}` |" not in PAGE] == []


def test_the_code_on_the_page_uses_every_option_once() -> None:
    meta, inline = tool_meta(transfer), tool_meta(thread_of_the_loop)

    assert meta is not None and inline is not None
    unset = [name for name in OPTIONS if getattr(meta, name) in (None, (), False)]
    assert unset == ["inline"]
    assert inline.inline


def test_a_refusal_is_final_and_nothing_happened() -> None:
    given = {"customer": "Ada", "reference": "1", "cents": 0}
    with pytest.raises(ToolFailed, match="transfer_money: Declined") as caught:
        call(transfer, given)

    assert (caught.value.extent, caught.value.attempts) == ("no", 1)
    assert call(transfer, {**given, "cents": 5}) == "Ada/1: 5"


def test_an_inline_tool_runs_in_the_thread_of_the_loop() -> None:
    assert call(thread_of_the_loop) == "MainThread"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs an effect"),
        ({"effect": "reads"}, "effect has to be"),
        ({"effect": "read", "idempotency_key": "text"}, "read"),
        ({"effect": "write", "idempotency_key": "texts"}, "names no required parameter"),
        ({"effect": "write", "idempotency_key": "limit"}, "names no required parameter"),
        ({"effect": "read", "inline": True, "timeout": 1.0}, "inline tool takes no timeout"),
        ({"effect": "read", "timeout": 0}, "timeout has to be"),
        ({"effect": "read", "colour": "red"}, "no option 'colour'"),
    ],
)
def test_what_the_page_says_is_refused_is_refused(options: dict[str, object], said: str) -> None:
    def find(text: str, limit: int = 1) -> str:
        """Find."""
        return text[:limit]

    with pytest.raises(ToolDefinitionError, match=said):
        tool(**options)(find)  # type: ignore[call-overload]
