"""The writer's thread beside its look-out: no write is ever overlooked."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Threads are switched as often as the interpreter can, so that the look-out meets the writer
# at every point; a write that nobody carries out shows as one that is still there at the end.
CONTEST = """
import sys, threading

import anyio
from salvor.events.store import Driver
from salvor.store_errors import StoreBusy
from salvor.stores.lockfile import FairLock
from salvor.stores.sqlite import SqliteStore

def spin(stop):
    while not stop.is_set():
        sum(range(50))

async def main(path):
    store = SqliteStore.open(path, patience=0.02)
    run = "00000000-0000-4000-8000-000000000001"
    driver = Driver(id="d1", pid=1, host="h")
    fence, _ = await store.take_over(run, driver, lease=3600, create=True)
    lock, stop, answered = FairLock(path + "-lock"), threading.Event(), []
    for _ in range(3):
        threading.Thread(target=spin, args=(stop,), daemon=True).start()

    async def confirm():
        try:
            await store.confirm(fence)
        except StoreBusy:
            pass
        answered.append(1)

    for round in range(ROUNDS):
        async with anyio.create_task_group() as group:
            lock.acquire()
            group.start_soon(confirm)
            await anyio.sleep(0.003 + round % 50 / 10000)
            lock.release()
            for _ in range(6):
                group.start_soon(confirm)
                await anyio.sleep(0)
    stop.set()
    print(len(answered))
    await store.close()

ROUNDS = 150
sys.setswitchinterval(1e-5)
anyio.run(main, sys.argv[1])
"""


def test_no_write_is_overlooked_while_the_look_out_refuses_overdue_ones(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CONTEST, str(tmp_path / "store.db")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (ended.returncode, ended.stdout.strip()) == (0, str(150 * 7)), ended.stderr
