"""Schemas without references: each one replaced by what it points at, within a budget."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from salvor.errors import Problem
from salvor.registry.schemas import DEFINITIONS, constraints, rebuilt, target
from salvor.values import JsonObject, JsonValue

BUDGET: Final = 10_000
"""Schemas that inlining may make at most."""

MAX_NESTING: Final = 50
"""Levels of schemas in schemas, about what arguments nested 100 levels deep can fill."""


class CannotInline(Exception):
    """A schema cannot be written without references."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def inlined(schema: JsonObject, budget: int = BUDGET) -> JsonObject:
    """The schema with every reference replaced by what it points at; the given one is kept.

    Args:
        schema: A schema whose references stay inside itself.
        budget: How many schemas the result may hold.

    Raises:
        CannotInline: it refers to itself, to nothing, or grows beyond the budget.
    """
    found = _Inliner(schema, budget).without_references(schema, "", ())
    assert isinstance(found, dict)
    for name in DEFINITIONS:
        found.pop(name, None)
    return deepcopy(found)


class _Inliner:
    def __init__(self, root: JsonObject, budget: int) -> None:
        self._root = root
        self._budget = budget
        self._made = 0
        self._nesting = 0

    def without_references(self, node: JsonValue, at: str, inside: tuple[str, ...]) -> JsonValue:
        self._count(at, len(inside))
        self._nesting += 1
        made = self._made_of(node, at, inside) if isinstance(node, dict) else node
        self._nesting -= 1
        return made

    def _made_of(self, node: JsonObject, at: str, inside: tuple[str, ...]) -> JsonValue:
        rest = {key: value for key, value in node.items() if key not in DEFINITIONS}
        reference = rest.pop("$ref", None)
        told = rest.get("discriminator")
        if isinstance(told, dict):  # its mapping names definitions, which go
            rest["discriminator"] = {key: told[key] for key in told if key != "mapping"}
        rest = rebuilt(rest, lambda child, place: self.without_references(child, place, inside), at)
        if reference is None:
            return rest
        return _joined(self._followed(reference, at, inside), rest)

    def _followed(self, reference: JsonValue, at: str, inside: tuple[str, ...]) -> JsonValue:
        if not isinstance(reference, str) or reference in inside:
            raise _refusal(at, "a schema that does not contain itself", f"{reference!r} again")
        try:
            held = target(self._root, reference)
        except (LookupError, TypeError):
            raise _refusal(at, "a reference into the schema itself", repr(reference)) from None
        self._nesting -= 1  # it takes the place of the reference
        made = self.without_references(held, at, (*inside, reference))
        self._nesting += 1
        return made

    def _count(self, at: str, followed: int) -> None:
        self._made += 1
        if self._made > self._budget:
            raise _refusal(at, f"at most {self._budget:,} schemas without references", "more")
        if max(self._nesting, followed) > MAX_NESTING:
            raise _refusal(at, f"at most {MAX_NESTING} schemas inside each other", "more")


def _joined(held: JsonValue, rest: JsonObject) -> JsonValue:
    if not rest:
        return held
    if isinstance(held, dict) and not constraints(rest):
        return {**held, **rest}
    # Both have to hold, and merging keywords of two schemas may change what they mean.
    return {**rest, "allOf": [held, *_arms(rest)]}


def _arms(rest: JsonObject) -> list[JsonValue]:
    arms = rest.get("allOf", [])
    return arms if isinstance(arms, list) else []


def _refusal(at: str, expected: str, came: str) -> CannotInline:
    return CannotInline(Problem(pointer=at, expected=expected, got=came))
