"""The page on effects and keys: its tools do what the page says of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from examples.snippets.effect_and_key import choosing as shop
from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import ToolFailed
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Failed, OpenWrite, RunResult
from salvor.testing.authors import call


@pytest.fixture(autouse=True)
def book(tmp_path: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        yield tmp_path / shop.BOOK
    finally:
        os.chdir(before)


def results(*calls: tuple[Any, dict[str, Any]]) -> list[RunResult[Any]]:
    """Each call as a run of its own, in one store."""
    return anyio.run(called, calls)


async def called(calls: Iterable[tuple[Any, dict[str, Any]]]) -> list[RunResult[Any]]:
    registry = Registry()
    opened = open_runtime("memory:", registry=registry, plugins=False, config=Config())
    async with opened as runtime:
        return [await runtime.call_tool(registry.for_function(fn), given) for fn, given in calls]


def outputs(found: list[RunResult[Any]]) -> list[Any]:
    return [getattr(one, "output", getattr(one, "error", None)) for one in found]


def test_an_idempotent_call_carries_a_key_of_its_own(book: Path) -> None:
    call(shop.set_price, {"article": "tea", "cents": 300})

    [line] = book.read_text().splitlines()
    key = line.rpartition(" ")[2]
    assert line.startswith("PUT /prices/tea 300 Idempotency-Key: ")
    assert len(key) >= 32


def test_one_order_is_shipped_once_and_an_other_address_is_refused(book: Path) -> None:
    first, again, other = outputs(
        results(
            (shop.ship, {"order_id": "A-1", "address": "Pier 3"}),
            (shop.ship, {"order_id": "A-1", "address": "Pier 3"}),
            (shop.ship, {"order_id": "A-1", "address": "Pier 4"}),
        )
    )

    assert first == again == "shipped A-1"
    assert other.startswith("ship: ")
    assert book.read_text() == "ship A-1 to Pier 3\n"


def test_several_parts_are_one_key_and_the_rest_is_not_in_it(book: Path) -> None:
    given = {"customer": "Ada", "cents": 900}
    results(
        (shop.send_invoice, {**given, "month": "2026-01"}),
        (shop.send_invoice, {**given, "month": "2026-02"}),
        (shop.send_invoice, {**given, "month": "2026-02"}),
    )

    assert book.read_text().splitlines() == ["invoice Ada 2026-01 900", "invoice Ada 2026-02 900"]


def test_a_key_may_lie_deeper_or_be_computed(book: Path) -> None:
    payment = {"payment": {"id": "P-1", "cents": 5}}
    found = results(
        (shop.pay, payment),
        (shop.pay, payment),
        (shop.invite, {"mail": "ada@shop.example"}),
        (shop.invite, {"mail": " Ada@shop.example"}),
    )

    assert outputs(found[:3]) == ["P-1", "P-1", "ada@shop.example"]
    assert isinstance(found[3], Failed)
    assert book.read_text().splitlines() == ["pay P-1 5", "invite ada@shop.example"]


def test_tools_of_one_scope_share_their_keys(book: Path) -> None:
    payment = {"payment": {"id": "P-1", "cents": 5}}
    results((shop.pay_now, payment), (shop.pay_later, payment))

    assert book.read_text() == "pay now P-1\n"


def test_a_failure_says_what_the_call_may_have_done(book: Path) -> None:
    for given in ({"order_id": "B-7", "cents": 1}, {"order_id": "A-1", "cents": 9999}):
        with pytest.raises(ToolFailed) as caught:
            call(shop.refund, given)
        assert (caught.value.extent, caught.value.attempts) == ("no", 1)

    assert call(shop.refund, {"order_id": "A-1", "cents": 1200}) == "refunded A-1"
    assert call(shop.count_orders) == 1


def test_a_write_of_several_requests_that_leaves_the_table_out_is_not_made_again(
    book: Path,
) -> None:
    [result] = results((shop.send_gift, {"order_id": "A-1"}))

    assert isinstance(result, OpenWrite)
    assert book.read_text() == "POST /charges A-1\n"
