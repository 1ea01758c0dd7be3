"""Tools of one shop, each with the effect and the key that fit it."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from salvor import INJECTED, Context, ToolFailure, tool

BOOK = Path("shop.txt")


def post(line: str) -> None:
    """What reaches the outside world."""
    with BOOK.open("a") as book:
        book.write(line + "\n")


# --8<-- [start:read]
@tool(effect="read")
def count_orders() -> int:
    """Count the orders that were placed."""
    return len(BOOK.read_text().splitlines()) if BOOK.exists() else 0


# --8<-- [end:read]
# --8<-- [start:idempotent]
@tool(effect="idempotent")
def set_price(article: str, cents: int, *, ctx: Context = INJECTED) -> None:
    """Set the price of an article.

    Args:
        article: Which one.
        cents: The price from now on.
    """
    post(f"PUT /prices/{article} {cents} Idempotency-Key: {ctx.idempotency_key}")


# --8<-- [end:idempotent]
# --8<-- [start:write]
@tool(effect="write", idempotency_key="order_id")
def ship(order_id: str, address: str) -> str:
    """Ship an order.

    Args:
        order_id: Which order; it is shipped once.
        address: Where to.
    """
    post(f"ship {order_id} to {address}")
    return f"shipped {order_id}"


# --8<-- [end:write]
# --8<-- [start:several]
@tool(effect="write", idempotency_key=("customer", "month"))
def send_invoice(customer: str, month: str, cents: int) -> str:
    """Send a customer the invoice of a month."""
    post(f"invoice {customer} {month} {cents}")
    return f"{customer}-{month}"


# --8<-- [end:several]
# --8<-- [start:nested]
class Payment(BaseModel):
    id: str
    cents: int


@tool(effect="write", idempotency_key="payment.id")
def pay(payment: Payment) -> str:
    """Make a payment."""
    post(f"pay {payment.id} {payment.cents}")
    return payment.id


# --8<-- [end:nested]
# --8<-- [start:computed]
def one_address(arguments: dict[str, Any]) -> str:
    return str(arguments["mail"]).strip().lower()


@tool(effect="write", idempotency_key=one_address)
def invite(mail: str) -> str:
    """Invite somebody to the shop."""
    post(f"invite {mail}")
    return mail


# --8<-- [end:computed]
# --8<-- [start:scope]
@tool(effect="write", idempotency_key="payment.id", claim_scope="payments")
def pay_now(payment: Payment) -> str:
    """Make a payment at once."""
    post(f"pay now {payment.id}")
    return payment.id


@tool(effect="write", idempotency_key="payment.id", claim_scope="payments")
def pay_later(payment: Payment) -> str:
    """Make a payment at the end of the day."""
    post(f"pay later {payment.id}")
    return payment.id


# --8<-- [end:scope]
# --8<-- [start:failure]
@tool(effect="write", idempotency_key="order_id", refusals=[KeyError])
def refund(order_id: str, cents: int) -> str:
    """Refund an order."""
    paid = {"A-1": 1200}[order_id]  # KeyError: nothing happened, and never will
    if cents > paid:
        raise ToolFailure(f"only {paid} cents were paid", happened=False, final=True)
    post(f"refund {order_id} {cents}")
    return f"refunded {order_id}"


# --8<-- [end:failure]


# --8<-- [start:several_requests]
def tell_carrier(order_id: str) -> None:
    raise ConnectionRefusedError(f"nobody takes {order_id}")


@tool(effect="write", idempotency_key="order_id", exceptions="unknown")
def send_gift(order_id: str) -> str:
    """Charge an order and tell the carrier."""
    post(f"POST /charges {order_id}")
    tell_carrier(order_id)
    return f"sent {order_id}"


# --8<-- [end:several_requests]
