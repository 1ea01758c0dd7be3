"""Tools for `salvor tools check`: honest ones, and some that are not what they declare."""

from __future__ import annotations

import importlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

from pydantic import Field

from salvor.tools.decorator import tool

Text = Annotated[str, Field(description="What to find.", examples=["hail"])]
Place = Annotated[str, Field(description="Where.")]


@tool(effect="read")
def find(text: Text) -> list[str]:
    """Find claims."""
    return [text]


@tool(effect="read")
def remember(place: Place) -> None:
    """Claim to read, and write."""
    print("noted")
    Path(place).write_text("noted")


@tool(effect="write")
def send(text: Text) -> None:
    """Send a text."""
    raise AssertionError("a write is never called")


@tool(effect="read")
def quit_at_once() -> None:
    """Take the process along."""
    Path("left.txt").write_text("x")
    os._exit(7)


@tool(effect="read")
def hang(place: Place) -> None:
    """Never end, and start a process that waits too; its id goes into a file."""
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    Path(place).write_text(str(started.pid))
    time.sleep(3600)


@tool(effect="read")
def look_twice() -> None:
    """Look at one address again and again."""
    for _ in range(3):
        with socket.socket() as ours:
            ours.connect_ex(("127.0.0.1", 9))


@tool(effect="read")
def load_late() -> None:
    """Import a module that nobody has compiled yet."""
    importlib.import_module("late")


@tool(effect="read")
def refuse() -> None:
    """Fail for good."""
    raise ConnectionRefusedError("nobody listens")


@tool(effect="read")
def outsource() -> None:
    """Start a process."""
    subprocess.run([sys.executable, "-c", ""], check=True)
