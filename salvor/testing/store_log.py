"""Writes made-up events to a store, without a runtime: for tests of stores."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from salvor.errors import SalvorError
from salvor.events.chain import GENESIS, ChainCheck, row_hash
from salvor.events.claims import ClaimChange, ClaimId, SettleClaim, TakeClaim
from salvor.events.records import Append, Driver, Fence, Row, Settlement, Stands
from salvor.events.store import Store

E = TypeVar("E", bound=SalvorError)

HERE = Driver(id="driver-here", pid=101, host="here.example")
THERE = Driver(id="driver-there", pid=202, host="there.example")
KEY = ClaimId(namespace="default", scope="native/pay", key='{"claim_id":"c-1"}')


class Log:
    """The end of one run's log, as its driver knows it.

    Args:
        store: Where the log is.
        fence: The right to write it.
    """

    def __init__(self, store: Store, fence: Fence) -> None:
        self.store = store
        self.fence = fence
        self.length = 0
        self.head_hash = GENESIS

    def rows(self, *texts: str) -> tuple[Row, ...]:
        """The rows that would add these texts."""
        rows: list[Row] = []
        prev = self.head_hash
        for seq, text in enumerate(texts, self.length):
            prev = row_hash(prev, self.fence.run_id, seq, text)
            recorded_at = 1_700_000_000_000_000 + seq
            rows.append(Row(seq=seq, recorded_at=recorded_at, envelope=text, row_hash=prev))
        return tuple(rows)

    def prepare(self, *texts: str, claims: tuple[ClaimChange, ...] = ()) -> Append:
        """The append that would add these texts."""
        return Append(
            fence=self.fence,
            length=self.length,
            prev_hash=self.head_hash,
            rows=self.rows(*texts),
            nonce=f"{self.fence.token}.{self.length}",
            claims=claims,
        )

    def settlement(
        self, *texts: str, claims: tuple[ClaimChange, ...] = (), answers: int | None = None
    ) -> Settlement:
        """The settlement that would add these texts."""
        return Settlement(
            run_id=self.fence.run_id,
            length=self.length,
            prev_hash=self.head_hash,
            rows=self.rows(*texts),
            nonce=f"settles-{self.fence.run_id}.{self.length}",
            claims=claims,
            answers=answers,
        )

    def settled(self, *texts: str, **facts: object) -> Settlement:
        """The settlement that would add these texts, with other facts."""
        return replace(self.settlement(*texts), **facts)  # type: ignore[arg-type]

    async def append_with(self, *texts: str, **facts: object) -> Stands | None:
        """Add texts, with other facts of the append."""
        prepared = replace(self.prepare(*texts), **facts)  # type: ignore[arg-type]
        stands = await self.store.append(prepared)
        if stands is None:
            self.advance(*texts)
        return stands

    def advance(self, *texts: str) -> None:
        """Count texts that were added."""
        self.head_hash = self.rows(*texts)[-1].row_hash
        self.length += len(texts)

    async def append(self, *texts: str, claims: tuple[ClaimChange, ...] = ()) -> Stands | None:
        """Add texts."""
        stands = await self.store.append(self.prepare(*texts, claims=claims))
        if stands is None:
            self.advance(*texts)
        return stands

    def take(self, key: ClaimId = KEY, *, effect: str = "write", given: str = "in") -> TakeClaim:
        """Claims a key for the next event."""
        return TakeClaim(
            id=key,
            effect=effect,
            run_id=self.fence.run_id,
            intent_seq=self.length,
            input_hash=given,
        )

    def settle(self, intent_seq: int, to: str = "committed", **facts: object) -> SettleClaim:
        """Settles the claim on `KEY` with the next event."""
        settled = SettleClaim(
            id=KEY,
            run_id=self.fence.run_id,
            intent_seq=intent_seq,
            to="committed",
            completion_seq=self.length,
        )
        return replace(settled, to=to, **facts)  # type: ignore[arg-type]


async def start_log(
    store: Store, run_id: str, *, driver: Driver = HERE, lease: float = 30.0
) -> Log:
    """A fresh run, taken over."""
    fence, _ = await store.take_over(run_id, driver, lease=lease, create=True)
    return Log(store, fence)


async def raised(kind: type[E], doing: Awaitable[object]) -> E:
    """The error of this kind that it ends with; anything else is an `AssertionError`."""
    try:
        result = await doing
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, got {result!r}")


async def texts(store: Store, run_id: str) -> list[str]:
    """The texts of a log whose chain holds."""
    page = await store.read(run_id)
    chain = ChainCheck(run_id)
    chain.rows(page.rows)
    chain.end(page.head)
    return [row.envelope for row in page.rows]
