"""A trip that takes days: every way a run can wait, and a payment in the middle."""

# --8<-- [start:tools]
from datetime import timedelta
from pathlib import Path

from salvor import Context, Run, spec, suspend, tool, workflow

BOOKED = Path("booked.txt")
PAID = Path("paid.txt")


@tool(effect="read")
def price(hotel: str) -> int:
    """Look up what a night costs, in cents."""
    return {"Alpha": 9900, "Beta": 12900}.get(hotel, 20000)


@tool(effect="write", idempotency_key="trip", approval=lambda asked: asked["cents"] > 10_000)
def pay(ctx: Context, trip: str, cents: int) -> str:
    """Pay for a trip."""
    with PAID.open("a") as file:
        file.write(f"{trip} {cents} {ctx.idempotency_key}\n")
    return f"receipt for {trip}"


@tool(effect="write", idempotency_key="trip")
def book(trip: str, hotel: str) -> str:
    """Book a room; somebody at the desk has to say which."""
    with BOOKED.open("a") as file:
        file.write(f"{trip} {hotel}\n")
    return suspend(f"Which room at {hotel} for {trip}?", str)


# --8<-- [end:tools]
# --8<-- [start:workflow]
@workflow
async def travel(run: Run, trip: str) -> str:
    """Compare, pay, wait for the bank, book, and remind."""
    alpha, beta = await run.gather(spec(price, "Alpha"), spec(price, "Beta"))
    hotel = "Alpha" if alpha <= beta else "Beta"
    nights = await run.suspend(f"How many nights at {hotel}?", int)
    await run.call(pay, trip=trip, cents=nights * min(alpha, beta))
    await run.signal("settled", bool)
    room = await run.call(book, trip=trip, hotel=hotel)
    await run.sleep_until(await run.now() - timedelta(seconds=1))
    return f"{trip}: room {room} at {hotel}"


# --8<-- [end:workflow]
