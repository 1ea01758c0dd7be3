"""The tools as they come out of the plugin, called as salvor calls them."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import anyio

from salvor.compose import open_runtime
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.runtime.outcome import RunResult

ENTRY = EntryPoint(name="files", value="salvor_files.plugin", group="salvor")


class Files:
    """The plugin over one directory."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.registry = Registry()
        self.plugins: Plugins = load_plugins(
            self.registry,
            strict=True,
            entry_points=[ENTRY],
            tables={"unknown": {"root": str(root), **settings}},
            environ={},
        )

    def result(self, tool: str, **arguments: Any) -> RunResult[Any]:
        """Call a tool once, as a run of its own."""

        async def session() -> RunResult[Any]:
            async with open_runtime(
                "memory:", registry=self.registry, plugins=Plugins()
            ) as runtime:
                return await runtime.call_tool(self.registry.get(tool), arguments)

        return anyio.run(session)

    def call(self, tool: str, **arguments: Any) -> Any:
        """The output of a call that has to succeed."""
        result = self.result(tool, **arguments)
        assert hasattr(result, "recorded"), result
        return result.recorded

    def refusal(self, tool: str, **arguments: Any) -> str:
        """The message of a call that has to fail for good."""
        result = self.result(tool, **arguments)
        assert getattr(result, "final", None) is True, result
        return str(getattr(result, "error", None))
