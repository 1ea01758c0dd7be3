"""The child of `salvor tools check`: calls one tool once and tells what it touches.

Each touch is told before it happens, as a line of JSON, so that nothing a tool does to its
process takes away what was told before.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import anyio

from salvor.cli.checking import asked_for, quietly_installed
from salvor.errors import SalvorError, ToolFailed
from salvor.runtime.causes import causes
from salvor.testing.authors import call_within
from salvor.testing.touches import Watch


def main() -> None:
    """Read an order, call the tool under the watch, and tell how it ended."""
    order = json.load(sys.stdin)
    tell = _teller()
    watch = Watch(lambda touch: tell({"touch": asdict(touch)}))
    try:
        tell({"ended": _call(order, watch)})
    except ToolFailed as error:
        tell({"failed": error.reason})
    except SalvorError as error:
        tell({"failed": str(error)})
    except Exception as error:
        tell({"failed": causes(error)})


def _call(order: dict[str, Any], watch: Watch) -> bool:
    asked = asked_for(order["target"], quietly_installed)
    tool = asked.tool(order["name"])

    async def watched() -> None:
        watch.switch(True)
        await call_within(asked.registry, asked.plugins, tool, order["arguments"])

    anyio.run(watched)
    return True


def _teller() -> Callable[[dict[str, Any]], None]:
    """Standard output becomes ours alone: what the tool prints goes to standard error."""
    ours = os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.dont_write_bytecode = True

    def tell(told: dict[str, Any]) -> None:
        line = json.dumps(told).encode() + b"\n"
        while line:
            line = line[os.write(ours, line) :]

    return tell


if __name__ == "__main__":
    main()
