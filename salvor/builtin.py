"""The plugin that salvor ships, found through its entry point like any other."""

from __future__ import annotations

from datetime import UTC, datetime

from salvor.plugins.hooks import Plugin, hookimpl
from salvor.tools.decorator import tool


@tool(effect="read", tags=["builtin"])
def salvor_now() -> datetime:
    """Tell the current date and time, in UTC."""
    return datetime.now(UTC)


@hookimpl
def salvor_register_tools(plugin: Plugin) -> None:
    """Add the tools that come with salvor."""
    plugin.registry.add(salvor_now)
