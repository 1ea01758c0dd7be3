"""The tools of the ledger, and the plugin with its settings."""

from importlib.metadata import EntryPoint
from pathlib import Path

from acme_ledger.plugin import Ledger

from salvor import Registry
from salvor.plugins.loader import load_plugins
from salvor.testing.authors import call


def test_entries_add_up(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.txt")

    assert call(ledger.balance) == 0
    call(ledger.enter, {"entry_id": "C-1", "amount_cents": 12000})
    call(ledger.enter, {"entry_id": "C-2", "amount_cents": -500})
    assert call(ledger.balance) == 11500


def test_the_operator_says_where_the_ledger_is(tmp_path: Path) -> None:
    registry = Registry()
    load_plugins(
        registry,
        strict=True,
        entry_points=[EntryPoint("main", "acme_ledger.plugin", "salvor")],
        environ={"SALVOR_PLUGIN_UNKNOWN_PATH": str(tmp_path / "ledger.txt")},
    )

    assert [(tool.name, tool.effect) for tool in registry] == [
        ("acme_ledger_balance", "read"),
        ("acme_ledger_enter", "write"),
    ]
