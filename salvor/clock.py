"""Ports for time and for what has to be unique, and the real ones.

The pure rooms take what they need as arguments; a driver takes a `Clock` and an `Ids`
through its constructor, so a test hands in its own.
"""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where the time comes from."""

    def now(self) -> datetime:
        """The wall-clock instant: aware, UTC, microseconds."""
        ...

    def boot(self) -> float:
        """Seconds since the machine booted, time asleep included; never set back."""
        ...


class Ids(Protocol):
    """Where unique and random values come from."""

    def run_id(self) -> str:
        """A fresh run id: a lower-case, hyphenated UUID."""
        ...

    def token(self) -> str:
        """A fresh token of 32 hex digits that nobody can guess."""
        ...

    def random(self) -> int:
        """64 random bits as an integer in ``[0, 2**64)``."""
        ...


# CLOCK_BOOTTIME goes on while the machine sleeps; where it is missing, monotonic is the nearest.
_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> datetime:
        """The wall-clock instant: aware, UTC, microseconds."""
        return datetime.now(UTC)

    def boot(self) -> float:
        """Seconds since the machine booted, time asleep included."""
        return time.clock_gettime(_BOOT)


class SystemIds:
    """UUIDs, tokens and random bits from the operating system."""

    def run_id(self) -> str:
        """A fresh random (version 4) UUID."""
        return str(uuid.uuid4())

    def token(self) -> str:
        """A fresh token of 32 hex digits."""
        return secrets.token_hex(16)

    def random(self) -> int:
        """64 bits from the operating system's generator."""
        return secrets.randbits(64)
