"""A worker of the chaos test: starts what nobody started, wakes what is due, until it is killed."""

from __future__ import annotations

import sys

import anyio

from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import SalvorError
from salvor.run_errors import RunExists
from tests.support.chaos_flow import settle

LEASE = 2.0


async def main(store: str, runs: int, begin: int) -> None:
    async with open_runtime(
        store, plugins=False, config=Config(), lease=LEASE, claim_wait=0.0
    ) as runtime:
        print("ready", flush=True)
        turn = 0
        while True:
            number = (begin + turn) % runs
            turn += 1
            try:
                await runtime.start(settle, {"number": number}, run_id=run_id(number))
            except RunExists:
                await anyio.sleep(0.005)
            except SalvorError:
                await anyio.sleep(0.05)
            if turn % 5 == 0:
                await sweep(runtime)


async def sweep(runtime: object) -> None:
    try:
        await runtime.wake_due(limit=20)  # type: ignore[attr-defined]
    except SalvorError:
        await anyio.sleep(0.05)


def run_id(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
