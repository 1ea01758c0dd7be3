"""Tools of a billing desk."""

from salvor import tool


@tool(effect="idempotent")
def send_invoice(order: str, month: str, note: str = "") -> str:
    """Send the invoice of a month."""
    return f"{order} {month}"


@tool(effect="read")
def find_orders(customer: str) -> list[str]:
    """Find the orders of a customer."""
    return [customer]
