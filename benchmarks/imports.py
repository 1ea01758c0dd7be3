"""What importing costs: whole processes, in turn with the thing they are compared to."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from time import perf_counter

ROUNDS = 9
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"  # installed packages are compiled, and so shall we be

_VERSION = """\
import sys
sys.argv = ["salvor", "--version"]
from salvor.cli.main import main
main()
"""

_FIRST_TOOL = """\
from salvor import Registry, tool
@tool(effect="read")
def find(name: str, count: int = 1) -> str:
    "Find."
    return name
Registry().add(find)
"""

_FIRST_MODEL = """\
from pydantic import create_model
create_model("find", name=(str, ...), count=(int, 1)).model_json_schema()
"""

PAIRS = {
    "import salvor": ("import salvor", "pass"),
    "from salvor import tool": ("from salvor import tool", "pass"),
    "from salvor import Registry": (
        "from salvor import Registry",
        "from pydantic import BaseModel",
    ),
    "a first tool registered": (_FIRST_TOOL, _FIRST_MODEL),
    "salvor --version": (_VERSION, "import click"),
}


_CALLED = {"pass": "bare python", _FIRST_MODEL: "create_model + schema"}


@dataclass(frozen=True, slots=True)
class Import:
    """Milliseconds of both processes (interpreter start included), and their ratio."""

    ours: float
    other: float
    ratio: float
    compared_to: str


def compare() -> dict[str, Import]:
    """Every pair, in turn, several times over."""
    return {name: _pair(ours, other) for name, (ours, other) in PAIRS.items()}


def _pair(ours: str, other: str) -> Import:
    times = [(_millis(ours), _millis(other)) for _ in range(ROUNDS)]
    return Import(
        ours=statistics.median(our for our, _ in times),
        other=statistics.median(their for _, their in times),
        ratio=statistics.median(our / their for our, their in times),
        compared_to=_CALLED.get(other, other),
    )


def _millis(code: str) -> float:
    environment = {name: word for name, word in os.environ.items() if name != _NO_BYTECODE}
    started = perf_counter()
    subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=environment, check=False
    )
    return (perf_counter() - started) * 1000
