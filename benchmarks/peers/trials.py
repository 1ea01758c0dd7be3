"""What each way of calling refuses, found by trying it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from benchmarks.peers.case import DOCUMENTED, REFUSABLE, TEXT, Function, pay, pay_badly
from benchmarks.peers.peer import CallPath, Lists

VALIDATES: Final = "wrong type"
CHECKS_OUTPUT: Final = "wrong output"
TRIALS: Final = (*REFUSABLE, CHECKS_OUTPUT)


Verdict: TypeAlias = Literal["refused", "taken", "crashes"]


@dataclass(frozen=True, slots=True)
class Found:
    """What becomes of each trial, by its name."""

    verdicts: dict[str, Verdict]

    @property
    def validates(self) -> bool:
        """Whether an argument of the wrong type is refused."""
        return self.verdicts[VALIDATES] == "refused"

    @property
    def checks_output(self) -> bool:
        """Whether an output that is not of the declared type is refused."""
        return self.verdicts[CHECKS_OUTPUT] == "refused"


async def tried(path: CallPath) -> Found:
    """Try everything once.

    Raises:
        Exception: whatever a right call raises: then nothing here can be measured.
    """
    with _quiet():
        async with path.open(pay) as calls:
            await calls(TEXT, 1)
        found = {name: await _verdict(path, text, pay) for name, text in REFUSABLE.items()}
        found[CHECKS_OUTPUT] = await _verdict(path, TEXT, pay_badly)
    return Found(found)


async def documents(lists: Lists) -> bool:
    """Whether a listing says what the docstring says of a parameter, at the parameter."""
    [definition] = await lists.open([pay])()
    schemas = [one for one in definition.values() if isinstance(one, dict)]
    return any(DOCUMENTED in json.dumps(one) for one in schemas)


async def shares(lists: Lists) -> bool:
    """Whether what one listing hands out is in the next one too, with whatever was done to it."""
    listing = lists.open([pay])
    [first], [second] = await listing(), await listing()
    return bool({id(part) for part in _parts(first)} & {id(part) for part in _parts(second)})


def _parts(definition: object) -> Iterator[object]:
    """Everything in a definition that somebody could change."""
    if isinstance(definition, Mapping | list):
        yield definition
        for part in definition.values() if isinstance(definition, Mapping) else definition:
            yield from _parts(part)


async def _verdict(path: CallPath, text: str, function: Function) -> Verdict:
    async with path.open(function) as calls:
        try:
            await calls(text, 1)
        except AttributeError:  # nothing looked, and something broke later
            return "crashes"
        except Exception:
            return "refused"
    return "taken"


@contextmanager
def _quiet() -> Iterator[None]:
    """Some log every refusal, and refusals are the point here."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
