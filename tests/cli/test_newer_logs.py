"""A run that only a newer salvor knows: it is shown, and driven no further."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from salvor.clock import SystemClock
from salvor.events.chain import row_hash
from salvor.events.records import Append, Driver, Row
from salvor.stores.connect import open_store
from tests.cli.command import Salvor

NEWER = [("RunDreamt", 1, "kind 'RunDreamt'"), ("RunStarted", 2, "schema version 2")]


async def add(store: Path, run_id: str, kind: str, version: int) -> None:
    """Append an event that this version would not write."""
    opened = open_store(str(store), clock=SystemClock())
    driver = Driver(id="newer", pid=1, host="h")
    try:
        fence, head = await opened.take_over(run_id, driver, lease=30, create=False)
        event = {"kind": kind, "payload": {}}
        envelope = {"run_id": run_id, "seq": head.length, "schema_version": version}
        text = json.dumps({**envelope, "recorded_at": "2026-07-09T12:00:00Z", "event": event})
        digest = row_hash(head.head_hash, run_id, head.length, text)
        row = Row(seq=head.length, recorded_at=0, envelope=text, row_hash=digest)
        await opened.append(
            Append(
                fence=fence,
                length=head.length,
                prev_hash=head.head_hash,
                rows=(row,),
                nonce="n",
            )
        )
        await opened.release(fence)
    finally:
        await opened.close()


@pytest.mark.parametrize(("kind", "version", "named"), NEWER)
def test_it_is_listed_shown_and_refused_by_name(
    salvor: Salvor, flows: str, store: Path, kind: str, version: int, named: str
) -> None:
    parked = salvor("run", f"{flows}:ask", "--input", '{"order": "A-1", "file": "unused"}')
    anyio.run(add, store, parked.run_id, kind, version)

    [line] = [one for one in salvor("list").out.splitlines() if parked.run_id in one]
    assert line.split()[1] == "unsupported"
    assert parked.run_id in salvor("list", "--status", "unsupported").out
    shown = salvor("history", parked.run_id).out.splitlines()
    assert "RunStarted" in shown[0]
    assert shown[-1].endswith(f"an event of {named}, which this version does not know")
    resumed = salvor("resume", parked.run_id, "--input", '{"approved": true}')
    assert resumed.code == 1
    assert named in resumed.complaint
    assert len(salvor("history", parked.run_id).out.splitlines()) == len(shown)
