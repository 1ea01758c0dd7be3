"""One measurement in a process of its own: ``python -m benchmarks.engines.once``."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines.catalogue import load


def main(words: Sequence[str]) -> None:
    """Print the seconds that the calls took; starting is not in them.

    Args:
        words: The engine, the number of its way, how many runs, how many calls in each.
    """
    name, *numbers = words
    way, runs, calls = map(int, numbers)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(load(name).ways[way].seconds(Path(folder) / "bench.db", runs, calls))


if __name__ == "__main__":
    main(sys.argv[1:])
