"""The plugins on the page load and do what the page says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from salvor.compose import open_runtime
from salvor.events.vocabulary import ToolCallCompleted
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, Failed
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool

pytestmark = pytest.mark.anyio


def loaded(registry: Registry, name: str, **table: Any) -> Plugins:
    entry = SimpleNamespace(
        name="main",
        value=name,
        dist=SimpleNamespace(name=name, version="1.0"),
        load=lambda: import_module(f"examples.snippets.plugins.{name}"),
    )
    tables = {name.replace("_", "-"): table}
    return load_plugins(registry, strict=True, entry_points=[entry], tables=tables, environ={})


async def test_the_ledger_is_open_while_the_runtime_is(tmp_path: Path) -> None:
    registry = Registry()
    plugins = loaded(registry, "acme_ledger", path=str(tmp_path / "ledger.db"))

    async with open_runtime("memory:", registry=registry, plugins=plugins) as runtime:
        result = await runtime.call_tool(registry.get("ledger_version"), {})

    assert isinstance(result, Completed)
    assert result.output.startswith("SQLite 3.")


@pytest.mark.parametrize(
    ("name", "extent", "executions"),
    [("AccountClosed", "no", 1), ("RateLimited", "no", 2), ("ReceiptLost", "yes", 1)],
)
async def test_the_banks_exceptions_say_what_happened(
    name: str, extent: str, executions: int
) -> None:
    raised = type(name, (Exception,), {"__module__": "acmebank.errors"})
    done: list[str] = []

    @tool(effect="write", retry=Retry(attempts=2, backoff=0))
    def pay() -> None:
        """Pay."""
        done.append("pay")
        raise raised

    registry = Registry()
    registry.add(pay)
    plugins = loaded(registry, "acme_bank")
    async with open_runtime("memory:", registry=registry, plugins=plugins) as runtime:
        result = await runtime.call_tool(registry.get("pay"), {})
        events = (await runtime.history(result.run_id)).envelopes

    assert isinstance(result, Failed)
    completion = events[-2].event
    assert isinstance(completion, ToolCallCompleted)
    assert (completion.extent, len(done)) == (extent, executions)


async def test_the_guard_denies_writes_of_money_and_nothing_else() -> None:
    done: list[str] = []

    @tool(effect="write", tags=["money"])
    def pay() -> None:
        """Pay."""
        done.append("pay")

    @tool(effect="write")
    def note() -> None:
        """Note."""
        done.append("note")

    registry = Registry()
    plugins = loaded(registry, "acme_guard")
    for function in (pay, note):
        registry.add(function)
    async with open_runtime("memory:", registry=registry, plugins=plugins) as runtime:
        denied = await runtime.call_tool(registry.get("pay"), {})
        allowed = await runtime.call_tool(registry.get("note"), {})

    assert isinstance(denied, Failed)
    assert "acme-guard:main denied it: PermissionError: money moves" in denied.error
    assert isinstance(allowed, Completed)
    assert done == ["note"]
