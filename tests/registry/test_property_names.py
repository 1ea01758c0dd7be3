"""Parameters and fields that are called like words of JSON Schema stay what they are."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, create_model

from salvor.registry.exports import to_anthropic, to_mcp, to_openai
from salvor.tools.check import SchemaCheck
from salvor.tools.function import FunctionTool
from tests.support.described import built

WORDS = (
    *("title", "type", "properties", "required", "items", "enum", "const", "anyOf", "allOf"),
    *("additionalProperties", "default", "description", "examples", "format", "minLength"),
    *("definitions", "prefixItems", "nullable", "name", "info", "strict", "parameters"),
)
NEEDED: dict[str, Any] = dict.fromkeys(WORDS, (int, ...))
Worded: Any = create_model("Worded", **NEEDED)


class Referring(BaseModel):
    """Fields that are called like references."""

    ref: Annotated[int, Field(alias="$ref")]
    defs: Annotated[int, Field(alias="$defs")]
    words: Worded


def worded(inner: type[BaseModel]) -> FunctionTool:
    scope: dict[str, Any] = {}
    parameters = ", ".join(f"{word}: int" for word in WORDS)
    exec(f"def take({parameters}, inner: object) -> None: ...", scope)
    scope["take"].__annotations__["inner"] = inner
    return built(scope["take"])


LOOSE = {"mcp": to_mcp, "openai": to_openai, "anthropic": to_anthropic}
FORMS: dict[str, Any] = {
    **LOOSE,
    "strict": partial(to_openai, strict=True),
    **{f"{name}, inlined": partial(form, inline=True) for name, form in LOOSE.items()},
    "strict, inlined": partial(to_openai, strict=True, inline=True),
}
INNER = dict.fromkeys(WORDS, 1)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_word_of_json_schema_is_lost_as_a_name(form: Any) -> None:
    exported = form(worded(Worded)).definition
    schema = next(exported[key] for key in _WHERE if key in exported)
    check = SchemaCheck(schema)
    sent = {**INNER, "inner": INNER}

    assert set(schema["properties"]) == {*WORDS, "inner"}
    assert check.is_valid(sent)
    for word in WORDS:
        assert not check.is_valid({**sent, word: "text"})
        assert not check.is_valid({**sent, "inner": {**INNER, word: "text"}})
        assert not check.is_valid({key: value for key, value in sent.items() if key != word})


_WHERE = ("inputSchema", "input_schema", "parameters")


@pytest.mark.parametrize("form", ["mcp", "openai", "strict", "mcp, inlined", "strict, inlined"])
def test_a_field_that_is_called_like_a_reference_is_none(form: str) -> None:
    tool = worded(Referring)
    exported = FORMS[form](tool).definition
    check = SchemaCheck(next(exported[key] for key in _WHERE if key in exported))
    sent = {**INNER, "inner": {"$ref": 1, "$defs": 2, "words": INNER}}

    assert check.is_valid(sent)
    assert not check.is_valid({**sent, "inner": {**sent["inner"], "$ref": "text"}})  # type: ignore[dict-item]
    assert tool.prepare(sent).arguments == sent  # type: ignore[arg-type]
