"""A function as a tool: its names, its digest, and a call from end to end."""

from __future__ import annotations

import logging
from functools import wraps
from typing import Any

import pytest
from pydantic import BaseModel

from salvor.errors import ArgumentsRefused, OutputRefused, ToolDefinitionError
from salvor.tools.context import INJECTED, Context, Depends
from salvor.tools.contract import ToolMeta
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool

CONTEXT = Context(
    run_id="r",
    position=1,
    attempt=1,
    epoch=1,
    idempotency_key=None,
    logger=logging.getLogger("test"),
)


class Receipt(BaseModel):
    id: str
    cents: int


LEDGER: dict[str, int] = Depends(dict)


@tool(effect="write", idempotency_key="claim_id", tags=["money"])
def pay_claim(
    claim_id: str, cents: int, db: dict[str, int] = LEDGER, *, ctx: Context = INJECTED
) -> Receipt:
    """Pay a claim.

    Args:
        claim_id: Which one.
    """
    db[claim_id] = cents + ctx.attempt
    return Receipt(id=claim_id, cents=cents)


def described(function: Any, **changes: Any) -> FunctionTool:
    values: dict[str, Any] = {"effect": "read", "description": "It does."}
    return function_tool(function, meta=ToolMeta(**(values | changes)))


def test_a_call_from_end_to_end() -> None:
    found = function_tool(pay_claim)
    prepared = found.prepare(found.bind(("c1",), {"cents": "5"}))
    key = found.key(prepared.arguments)
    db: dict[str, int] = {}
    args, kwargs = found.arguments(prepared.values, CONTEXT, {"db": db})
    encoded = found.encode_output(found.fn(*args, **kwargs))

    assert prepared.arguments == {"claim_id": "c1", "cents": 5}
    assert key == '{"claim_id":"c1"}'
    assert db == {"c1": 6}
    assert encoded == {"id": "c1", "cents": 5}
    assert found.decode_output(encoded) == Receipt(id="c1", cents=5)


def test_a_tool_says_what_it_is() -> None:
    found = function_tool(pay_claim, prefix="desk_")

    assert (found.name, found.original_name) == ("desk_pay_claim", "pay_claim")
    assert found.description == "Pay a claim."
    assert found.effect == "write"
    assert found.meta.tags == ("money",)
    assert found.fn is pay_claim
    assert not found.is_async
    assert found.origin.startswith(f"{__file__}:")
    assert found.origin.endswith(" pay_claim")
    assert found.module == __name__
    assert found.source_id == "native"
    assert repr(found) == f"<FunctionTool desk_pay_claim (write) of {found.origin}>"


def test_a_renamed_tool_keeps_its_original_name_and_its_claims() -> None:
    found = function_tool(pay_claim, name="settle", prefix="x_")

    assert (found.name, found.original_name) == ("x_settle", "pay_claim")
    assert found.claim_scope == "native/pay_claim"


def test_a_declared_name_is_the_original_one() -> None:
    def add(a: int) -> int:
        return a

    found = described(add, name="plus", claim_scope="sums")

    assert (found.name, found.original_name, found.claim_scope) == ("plus", "plus", "sums")


def test_an_async_function_says_so() -> None:
    async def later(a: int) -> int:
        return a

    assert described(later).is_async
    assert described(later).output_schema == {"type": "integer"}


def test_a_lambda_takes_its_name_from_who_adds_it() -> None:
    found = described(lambda: 1, name="one")

    assert found.name == "one"
    with pytest.raises(ToolDefinitionError, match="a lambda has no name"):
        described(lambda: 1)


def test_a_function_that_is_not_declared_is_refused() -> None:
    def plain() -> None:
        """Do."""

    with pytest.raises(ToolDefinitionError, match="does not say what it does to the world"):
        function_tool(plain)


@pytest.mark.parametrize("prefix", ["a b", "x" * 64, "_salvor"])
def test_a_final_name_has_to_be_a_name(prefix: str) -> None:
    with pytest.raises(ToolDefinitionError, match=r"pay_claim: (a tool's name|the name)"):
        function_tool(pay_claim, prefix=prefix)


def test_a_docstring_of_sections_only_describes_nothing() -> None:
    def add(a: int) -> int:
        """Args:
        a: x
        """
        return a

    with pytest.raises(ToolDefinitionError, match="needs a description"):
        function_tool(add, meta=ToolMeta(effect="read"))


def test_a_return_type_that_cannot_be_described_is_refused_at_once() -> None:
    class Conn: ...

    def connect() -> Conn:
        return Conn()

    with pytest.raises(ToolDefinitionError, match="its return type: values of the type"):
        described(connect)


def test_the_digest_is_that_of_the_definition() -> None:
    def one(a: int) -> int:
        return a

    def other(a: int, b: int = 1) -> int:
        return a

    same = described(one, name="t")

    assert same.digest == same.digest
    assert same.digest == described(one, name="t", description="Other words.").digest
    assert same.digest == described(one, name="t", tags=("x",)).digest
    different = {
        same.digest,
        described(one, name="u").digest,
        described(one, name="t", effect="write").digest,
        described(one, name="t", effect="write", idempotency_key="a").digest,
        described(one, name="t", effect="write", idempotency_key=("a",)).digest,
        described(one, name="t", effect="write", idempotency_key=lambda found: "k").digest,
        described(other, name="t").digest,
    }
    assert len(different) == 7
    assert all(digest.startswith("sha256:") for digest in different)


def test_prefix_and_renaming_do_not_change_the_digest() -> None:
    plain = function_tool(pay_claim)

    assert plain.digest == function_tool(pay_claim, prefix="a_", name="b").digest


def test_errors_name_the_tool_by_its_final_name() -> None:
    found = function_tool(pay_claim, prefix="desk_")

    with pytest.raises(ArgumentsRefused, match="desk_pay_claim refused"):
        found.prepare({})
    with pytest.raises(OutputRefused, match="desk_pay_claim returned"):
        found.encode_output(5)


def test_a_bound_method_is_called_with_its_object() -> None:
    class Desk:
        def __init__(self) -> None:
            self.paid: list[str] = []

        def pay(self, claim: str, ctx: Context) -> int:
            self.paid.append(claim)
            return ctx.attempt

    desk = Desk()
    found = described(desk.pay)
    args, kwargs = found.arguments(found.prepare({"claim": "a"}).values, CONTEXT, {})

    assert found.fn(*args, **kwargs) == 1
    assert desk.paid == ["a"]


def test_a_wrapped_function_is_called_through_its_wrapper() -> None:
    def inner(a: int, /, b: int = 2) -> int:
        """Add."""
        return a + b

    @tool(effect="read")
    @wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs) * 10

    found = function_tool(wrapper)
    args, kwargs = found.arguments(found.prepare({"a": 1}).values, CONTEXT, {})

    assert found.fn(*args, **kwargs) == 30
    assert found.description == "Add."


def test_the_current_context_is_not_what_counts_for_delivery() -> None:
    found = function_tool(pay_claim)

    _, kwargs = found.arguments({"claim_id": "a", "cents": 1}, CONTEXT, {"db": {}})

    assert kwargs["ctx"] is CONTEXT
