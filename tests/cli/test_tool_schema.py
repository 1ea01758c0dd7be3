from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Salvor

FIND = f"{Path(__file__).parent / 'checked.py'}:find"


def test_the_schema_of_the_arguments_is_all_that_is_printed(salvor: Salvor) -> None:
    schema = json.loads(salvor("tools", "schema", FIND).out)

    assert schema["properties"]["text"]["description"] == "What to find."
    assert schema["required"] == ["text"]


def test_what_a_module_prints_while_it_is_imported_is_no_result(
    salvor: Salvor, tmp_path: Path
) -> None:
    loud = tmp_path / "loud.py"
    loud.write_text(
        "from salvor import tool\n\nprint('imported')\n\n"
        '@tool(effect="read")\ndef loud(text: str) -> str:\n    """Do it."""\n    return text\n'
    )
    asked = salvor("tools", "schema", str(loud))

    assert list(json.loads(asked.out)["properties"]) == ["text"]
    assert asked.err == "imported\n"


def test_the_schema_of_the_result_comes_on_request(salvor: Salvor) -> None:
    assert json.loads(salvor("tools", "schema", FIND, "--result").out)["type"] == "array"


def test_a_tool_without_a_return_type_has_none(salvor: Salvor, tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text(
        'from salvor import tool\n\n@tool(effect="read")\ndef bare():\n    """Do it."""\n'
    )
    asked = salvor("tools", "schema", str(bare), "--result")

    assert asked.code == 1
    assert asked.complaint.startswith("bare does not say what it gives.")


@pytest.mark.parametrize(
    ("form", "holds"),
    [
        ("mcp", "inputSchema"),
        ("anthropic", "input_schema"),
        ("openai", "parameters"),
        ("openai-strict", "parameters"),
    ],
)
def test_a_definition_comes_in_the_form_of_a_provider(
    salvor: Salvor, form: str, holds: str
) -> None:
    definition: dict[str, Any] = json.loads(salvor("tools", "schema", FIND, "--form", form).out)

    assert definition["name"] == "find"
    assert "text" in definition[holds]["properties"]
    assert definition.get("strict", False) == (form == "openai-strict")


def test_no_reference_is_left_on_request(salvor: Salvor, tmp_path: Path) -> None:
    nested = tmp_path / "nested.py"
    nested.write_text(
        "from pydantic import BaseModel\n\n"
        "from salvor import tool\n\n"
        "class Claim(BaseModel):\n    id: str\n\n"
        '@tool(effect="read")\n'
        "def look(first: Claim, second: Claim) -> None:\n"
        '    """Look."""\n'
    )
    with_references = salvor("tools", "schema", str(nested), "--form", "mcp").out
    inlined = salvor("tools", "schema", str(nested), "--form", "mcp", "--inline").out

    assert "$ref" in with_references
    assert "$ref" not in inlined


@pytest.mark.parametrize("flags", [("--result", "--form", "mcp"), ("--inline",)])
def test_flags_that_do_not_go_together_are_refused(salvor: Salvor, flags: tuple[str, ...]) -> None:
    assert salvor("tools", "schema", FIND, *flags).code == 2
