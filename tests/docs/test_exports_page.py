"""The page on exports: its code does what the page says."""

from __future__ import annotations

import pytest

from examples.snippets.exports.desk import arguments_of, request_tools, strict_tools


def test_a_request_holds_every_tool_in_order() -> None:
    assert [one["name"] for one in request_tools()] == ["count_by", "find_claims"]


def test_strict_mode_leaves_one_out_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert [one["name"] for one in strict_tools()] == ["find_claims"]
    assert "count_by cannot be exported in the form openai-strict" in capsys.readouterr().out


def test_a_null_of_strict_mode_is_a_field_left_out() -> None:
    assert arguments_of("find_claims", {"text": "hail", "limit": None}) == {"text": "hail"}
