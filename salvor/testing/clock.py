"""Time and randomness that a test decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A clock that stands still until it is moved; boot time moves along.

    Args:
        start: What it shows first; any aware instant.
    """

    def __init__(self, start: datetime = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)) -> None:
        self._now = start
        self._boot = 1000.0

    def now(self) -> datetime:
        """The instant it was moved to."""
        return self._now

    def boot(self) -> float:
        """Seconds since a boot that never was."""
        return self._boot

    def move(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
        self._boot += seconds


class FakeIds:
    """Ids, tokens and random bits that count up: the same in every run of a test.

    Args:
        salt: Distinguishes several of them in one test (0 to 255).
    """

    def __init__(self, salt: int = 0) -> None:
        self._salt = salt
        self._count = 0

    def run_id(self) -> str:
        """The next id: a UUID that ends in its number."""
        return f"00000000-0000-4000-8000-{self._salt:02x}{self._next():010x}"

    def token(self) -> str:
        """The next token of 32 hex digits."""
        return f"{self._salt:02x}{self._next():030x}"

    def random(self) -> int:
        """The next number, spread over 64 bits."""
        return (self._next() * 0x9E3779B97F4A7C15) % 2**64

    def _next(self) -> int:
        self._count += 1
        return self._count


class SmallIds(FakeIds):
    """The same with small random numbers, which leave no pause between attempts."""

    def random(self) -> int:
        """The next number."""
        return self._next()
