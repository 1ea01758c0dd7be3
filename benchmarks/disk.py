"""What the disk does by itself: 4 KiB writes, each made durable."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

_BLOCK = b"\xa5" * 4096
_PREALLOCATED = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskFigures:
    """``fdatasync`` calls per second."""

    growing: float
    preallocated: float


def disk_figures(directory: Path, *, seconds: float = 1.0) -> DiskFigures:
    """Measure the disk that holds ``directory``; the file is removed again."""
    path = directory / "disk-figures"
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        growing = _synced_per_second(file, seconds, wrap=None)
        os.ftruncate(file, 0)
        os.pwrite(file, _BLOCK * _PREALLOCATED, 0)
        os.fsync(file)
        preallocated = _synced_per_second(file, seconds, wrap=_PREALLOCATED)
    finally:
        os.close(file)
        path.unlink()
    return DiskFigures(growing=growing, preallocated=preallocated)


def _synced_per_second(file: int, seconds: float, *, wrap: int | None) -> float:
    started = perf_counter()
    count = 0
    while perf_counter() - started < seconds:
        block = count if wrap is None else count % wrap
        os.pwrite(file, _BLOCK, block * len(_BLOCK))
        os.fdatasync(file)
        count += 1
    return count / (perf_counter() - started)
