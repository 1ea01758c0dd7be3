"""Refunds through a bank that now and then takes the power with it."""

# --8<-- [start:tools]
import json
import os
import signal
from pathlib import Path
from typing import Any

from salvor import Run, tool, workflow
from salvor.tools.verification import CannotTell, Finding, Happened, NotHappened

BANK = Path("bank.json")  # what the bank knows
POWER = Path("power-cut.txt")


def _booked() -> dict[str, int]:
    booked: dict[str, int] = json.loads(BANK.read_text()) if BANK.exists() else {}
    return booked


def ask_the_bank(arguments: dict[str, Any], key: str | None) -> Finding:
    """Look the refund up: a question that changes nothing."""
    if not BANK.exists():
        return CannotTell("the bank does not answer")
    order = arguments["order"]
    return Happened(f"refund of {order}") if order in _booked() else NotHappened()


@tool(effect="write", idempotency_key="order", timeout=5, verify=ask_the_bank)
def refund(order: str, cents: int) -> str:
    """Pay money back."""
    if order.startswith("early") and not POWER.exists():
        POWER.touch()
        os.kill(os.getpid(), signal.SIGKILL)  # before the bank heard of it
    BANK.write_text(json.dumps({**_booked(), order: cents}))
    if order.startswith("late"):
        os.kill(os.getpid(), signal.SIGKILL)  # the bank did it, and nobody heard
    return f"refund of {order}"


# --8<-- [end:tools]
# --8<-- [start:workflow]
@workflow
async def refunding(run: Run, order: str, cents: int) -> str:
    """Pay back, and say so."""
    return await run.call(refund, order=order, cents=cents)


# --8<-- [end:workflow]
