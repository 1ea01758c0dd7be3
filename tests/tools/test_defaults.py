"""What one call does to a default is nothing to the next one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from salvor.testing.authors import call
from salvor.tools.context import Context
from salvor.tools.injection import INJECTED
from tests.support.described import built


class Basket(BaseModel):
    items: list[str] = []


class Unique:
    """It cannot be copied, and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self) -> None:
        self.lock = threading.Lock()


UNIQUE = Unique()


def a_list(items: list[str] = []) -> int:  # noqa: B006
    items.append("x")
    return len(items)


def a_set(items: set[str] = set()) -> int:  # noqa: B006
    items.add(f"x{len(items)}")
    return len(items)


def an_object(counts: dict[str, int] = {}) -> int:  # noqa: B006
    counts[f"x{len(counts)}"] = 1
    return len(counts)


def a_model(basket: Basket = Basket()) -> int:  # noqa: B008
    basket.items.append("x")
    return len(basket.items)


def inside(pair: tuple[list[str], int] = ([], 1)) -> int:
    pair[0].append("x")
    return len(pair[0])


def described(items: Annotated[list[str], Field(description="Things.")] = []) -> int:  # noqa: B006
    items.append("x")
    return len(items)


def positional(items: list[str] = [], /, ctx: Context = INJECTED) -> int:  # noqa: B006
    items.append("x")
    return len(items)


def renamed(_copy: list[str] = [], copy: list[str] = []) -> int:  # noqa: B006
    _copy.append("x")
    copy.append("x")
    return len(_copy) + len(copy) - 1


def a_factory(
    items: list[str] = Field(default_factory=list, description="Things."),  # noqa: B008
) -> int:
    items.append("x")
    return len(items)


BODIES = (a_list, a_set, an_object, a_model, inside, described, positional, renamed, a_factory)


@pytest.mark.parametrize("body", BODIES)
def test_every_call_gets_a_default_of_its_own(body: Callable[..., int]) -> None:
    first = built(body)

    assert [call(first, {}), call(first, {}), call(built(body), {})] == [1, 1, 1]
    assert built(body).digest == first.digest


def test_a_default_is_no_part_of_what_was_passed() -> None:
    prepared = built(a_list).prepare({})

    assert (prepared.arguments, prepared.text) == ({}, "{}")


def test_what_cannot_be_copied_is_left_to_the_function() -> None:
    def odd(value: Any = UNIQUE) -> bool:
        return value is UNIQUE

    assert call(built(odd), {}) is True
