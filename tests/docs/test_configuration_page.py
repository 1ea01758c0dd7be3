"""The file on the page is one that salvor takes, and does what the page says."""

from __future__ import annotations

from pathlib import Path

from salvor.compose import approval_rules, furnish
from salvor.config import ApprovalSettings, Config, RetrySettings, ToolSettings, load_config
from salvor.registry.registry import Registry
from salvor.tools.approval import Asked, approval_of
from salvor.tools.function import FunctionTool
from salvor.values import JsonValue

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/configuration.md").read_text()


def test_the_file_on_the_page_is_heard() -> None:
    registry = Registry()

    furnish(
        registry,
        load_config(ROOT / "examples/snippets/configuration/salvor.toml"),
        plugins=False,
    )

    [effect, key, timeout] = registry.differences("send_invoice")
    assert f"{effect.option} {effect.operator} (declared: {effect.declared})" in PAGE
    assert (key.operator, timeout.operator) == ("order, month", "30 s")
    assert [one.option for one in registry.differences("find_orders")] == ["retry"]


def test_the_rules_on_the_page_ask_about_what_they_say() -> None:
    registry = Registry()
    furnish(
        registry, load_config(ROOT / "examples/snippets/configuration/salvor.toml"), plugins=False
    )
    send, find = registry.get("send_invoice"), registry.get("find_orders")
    rules = approval_rules(load_config(ROOT / "examples/snippets/configuration/approvals.toml"))

    def asked(tool: FunctionTool, **arguments: JsonValue) -> Asked | None:
        return approval_of(tool, arguments, rules)

    assert asked(send, order=1, cents=100) is None
    assert asked(send, order=1, cents=100_000) == Asked(deadline=86_400)
    assert asked(send, order=1) == Asked(deadline=86_400)
    assert asked(find, cents=100_000) is None


def test_every_key_is_on_the_page() -> None:
    keys = {
        *ToolSettings.model_fields,
        *RetrySettings.model_fields,
        *ApprovalSettings.model_fields,
        "modules",
        "allow",
        "block",
    }

    assert [key for key in sorted(keys) if f"`{key}`" not in PAGE and f"{key} =" not in PAGE] == []
    assert set(Config.model_fields) == {
        "modules",
        "tools",
        "allow_plugins",
        "block_plugins",
        "plugins",
        "approvals",
        "source",
        "lines",
    }
