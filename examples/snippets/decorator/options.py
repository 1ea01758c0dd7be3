"""Every option of the decorator once."""

# --8<-- [start:options]
from typing import Any

from salvor import Retry, tool
from salvor.tools.verification import CannotTell, Finding, Happened, NotHappened

STATEMENT: dict[str, str] | None = {}


def on_the_statement(arguments: dict[str, Any], key: str | None) -> Finding:
    """Look the transfer up by its key."""
    if STATEMENT is None:
        return CannotTell("the bank is closed")
    found = STATEMENT.get(str(key))
    return NotHappened() if found is None else Happened(found)


class Declined(Exception):
    """The bank said no."""


@tool(
    effect="write",
    name="transfer_money",
    description="Move money between two accounts of one customer.",
    idempotency_key=("customer", "reference"),
    claim_scope="bank/transfer",
    retry=Retry(attempts=5, backoff=1.0),
    refusals=[Declined],
    exceptions="failed",
    timeout=20.0,
    approval=lambda arguments: arguments["cents"] > 1_000_000,
    verify=on_the_statement,
    tags=["money"],
)
def transfer(customer: str, reference: str, cents: int) -> str:
    if cents <= 0:
        raise Declined("nothing to move")
    return f"{customer}/{reference}: {cents}"


# --8<-- [end:options]
# --8<-- [start:inline]
@tool(effect="read", inline=True)
def thread_of_the_loop() -> str:
    """Name the thread that this runs in."""
    import threading

    return threading.current_thread().name


# --8<-- [end:inline]
