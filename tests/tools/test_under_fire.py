"""A hundred thousand invented calls: what holds for every signature and all arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from salvor.errors import ArgumentsRefused
from salvor.tools.arguments import Prepared
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, JsonValue, canonical_json, parse_json
from tests.support.invented import Inventor

CHUNKS = 40
TOOLS = 125
CALLS = 24
PAIRS = CHUNKS * TOOLS * CALLS
NO_CONTEXT: Any = None
NO_VALUE: Any = object()


def test_there_are_enough_of_them() -> None:
    assert PAIRS >= 100_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CHUNKS))
def test_schema_and_tool_agree_on_every_invented_call(seed: int) -> None:
    inventor = Inventor(seed)
    outcomes = {"as it came": 0, "repaired": 0, "refused": 0}
    for _ in range(TOOLS):
        tool = inventor.tool()
        for _ in range(CALLS):
            outcomes[judged(tool, inventor.arguments(tool))] += 1

    print(f"{sum(outcomes.values()):,} of {PAIRS:,} invented calls: {outcomes}")
    assert sum(outcomes.values()) == TOOLS * CALLS
    assert min(outcomes.values()) > TOOLS * CALLS / 50


def judged(tool: FunctionTool, raw: JsonObject) -> str:
    before = canonical_json(raw)
    fits = tool.input.check.is_valid(raw)
    try:
        prepared = tool.prepare(raw)
    except ArgumentsRefused as error:
        assert not fits, f"the schema accepts {raw}, the tool does not: {error}"
        check_refusal(tool, raw, error)
        assert canonical_json(raw) == before
        return "refused"
    assert canonical_json(raw) == before
    check_accepted(tool, raw, prepared)
    if fits:
        assert as_numbers(prepared.arguments) == as_numbers(raw), "what fits is not changed"
        return "as it came"
    return "repaired"


def as_numbers(value: JsonValue) -> str:
    """The canonical text with integral floats as integers, which is all that may change."""
    if isinstance(value, dict):
        inner = sorted(f"{key!r}:{as_numbers(item)}" for key, item in value.items())
        return f"{{{','.join(inner)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(as_numbers, value))}]"
    return canonical_json(int(value) if type(value) is float and value.is_integer() else value)


def check_accepted(tool: FunctionTool, raw: JsonObject, prepared: Prepared) -> None:
    found = prepared.arguments
    assert tool.input.check.is_valid(found), "what the tool accepts fits its schema"
    assert prepared.text == canonical_json(found)
    shuffled = dict(reversed(list(found.items())))
    again = tool.prepare(parse_json(canonical_json(shuffled)))  # type: ignore[arg-type]
    assert again.text == prepared.text, "the canonical form is stable"
    assert found.keys() <= raw.keys(), "no default was added"
    for place, was, became in pairs(raw, found, ()):
        assert (type(was) is bool) == (type(became) is bool) or isinstance(was, str), place
        assert type(was) is not bool or was is became, place
    args, kwargs = tool.arguments(prepared.values, NO_CONTEXT, {})
    delivered = tool.fn(*args, **kwargs)
    for argument in tool.input.parameters:
        if argument.wire in found:
            check_delivered(found[argument.wire], delivered[argument.name])


def pairs(
    left: JsonValue, right: JsonValue, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], JsonValue, JsonValue]]:
    """Every place that two values share."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() & right.keys():
            yield from pairs(left[key], right[key], (*place, key))
    elif isinstance(left, list) and isinstance(right, list):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from pairs(one, other, (*place, index))
    else:
        yield place, left, right


def check_delivered(value: JsonValue, python: Any) -> None:
    """No boolean arrives as anything else, and nothing else arrives as a boolean."""
    if isinstance(value, dict):
        inner = python if isinstance(python, dict) else getattr(python, "__dict__", {})
        for key, item in value.items():
            there = inner.get(key, NO_VALUE)
            if there is not NO_VALUE:
                check_delivered(item, there)
    elif isinstance(value, list) and isinstance(python, list | tuple):
        for item, there in zip(value, python, strict=False):
            check_delivered(item, there)
    elif not isinstance(value, list):
        assert (type(value) is bool) == (type(python) is bool), (value, python)


def check_refusal(tool: FunctionTool, raw: JsonObject, error: ArgumentsRefused) -> None:
    """All problems at once: each points at a place, and none is left without those places."""
    assert error.problems
    pointers = [problem.pointer for problem in error.problems]
    assert pointers == sorted(pointers)
    assert len(set(pointers)) == len(pointers)
    for problem in error.problems:
        assert problem.expected and problem.got
        check_pointer(problem.pointer, raw, absent=problem.got == "nothing")
    heads = {head_of(pointer) for pointer in pointers}
    for problem in tool.input.check.problems(raw):
        repairable = without_others(tool, raw, head_of(problem.pointer))
        assert repairable or head_of(problem.pointer) in heads, (problem, pointers)


def without_others(tool: FunctionTool, raw: JsonObject, name: str) -> bool:
    """Whether one argument is no problem: repair would have taken care of it."""
    if name not in raw:
        return False
    (problems,) = [refusal(tool, {name: raw[name]})]
    return all(head_of(pointer) != name for pointer in problems)


def refusal(tool: FunctionTool, raw: JsonObject) -> list[str]:
    try:
        tool.prepare(raw)
    except ArgumentsRefused as error:
        return [problem.pointer for problem in error.problems]
    return []


def head_of(pointer: str) -> str:
    return unescaped(pointer.split("/")[1]) if pointer else ""


def unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def check_pointer(pointer: str, raw: JsonValue, *, absent: bool) -> None:
    steps = [unescaped(step) for step in pointer.split("/")[1:]]
    value: Any = raw
    for step in steps[: len(steps) - absent]:
        value = parse_json(value) if isinstance(value, str) else value  # it was sent as text
        value = value[int(step)] if isinstance(value, list) else value[step]
    if absent:
        value = parse_json(value) if isinstance(value, str) else value
        assert isinstance(value, list) or steps[-1] not in value
