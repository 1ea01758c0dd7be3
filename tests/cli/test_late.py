"""What came too late for a log is shown where somebody is about to say what happened (E7)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from salvor.events.records import LateResult
from salvor.stores.sqlite import SqliteStore
from tests.cli.command import Ended, Salvor

PARKING = str(Path(__file__).with_name("parking.py"))
LINE = 'late: the call at event 1 (epoch 1) ended with output "shipped o-1"; nobody was waiting'


@pytest.fixture
def lost(salvor: Salvor, store: Path) -> Ended:
    """A call whose body came back after its run had been lost."""
    ended = salvor("run", f"{PARKING}:losing", "--input", '{"order": "o-1"}')

    async def keep() -> None:
        opened = SqliteStore.open(str(store))
        kept_at = datetime(2026, 7, 9, tzinfo=UTC)
        told = {"outcome": "output", "value": '"shipped o-1"', "kept_at": kept_at}
        await opened.keep_late(LateResult(run_id=ended.run_id, intent_seq=1, epoch=1, **told))  # type: ignore[arg-type]
        await opened.close()

    anyio.run(keep)
    return ended


def test_claims_history_and_resolve_show_it(salvor: Salvor, lost: Ended) -> None:
    shown = [
        salvor("claims", "show", "native/ship_and_lose", '{"order":"o-1"}').out,
        salvor("history", lost.run_id).out,
        salvor("resolve", lost.run_id, "--output", '"shipped o-1"').out,
    ]

    assert all(LINE in text for text in shown)
    assert salvor("resume", lost.run_id).out == '"shipped o-1"\n'


def test_nothing_happened_is_refused_with_what_did(salvor: Salvor, lost: Ended) -> None:
    refused = [
        salvor("resolve", lost.run_id, "--not-done", "--worker-dead"),
        salvor("resolve", lost.run_id, "--failed", "--not-happened"),
        salvor("abandon", lost.run_id, "--not-happened", "--worker-dead"),
        salvor(
            "claims", "release", "native/ship_and_lose", '{"order":"o-1"}',
            "--reason", "it seems so", "--worker-dead",
        ),
    ]  # fmt: skip

    for one in refused:
        assert one.code == 1
        assert 'its body came to "shipped o-1"' in one.complaint
    assert "needs-reconciliation" in salvor("list").out
