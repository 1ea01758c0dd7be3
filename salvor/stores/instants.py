"""Instants as whole microseconds since the epoch, the form they are stored in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(instant: datetime) -> int:
    """An aware instant in microseconds since the epoch, exactly."""
    return (instant - _EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """The instant so many microseconds after the epoch, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)
