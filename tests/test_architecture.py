"""The shape of the package: layers, pure rooms, cheap imports, small files, no loops."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "salvor"

# A room imports lower layers only. The modules of the ground floor may use each other.
LAYERS = {
    "errors": 0,
    "run_errors": 0,
    "store_errors": 0,
    "values": 0,
    "clock": 0,
    "handoff": 0,
    "version": 0,
    "toml_lines": 0,
    "config": 1,
    "tools": 1,
    "events": 2,
    "registry": 2,
    "plugins": 3,
    "mcp": 3,
    "stores": 3,
    "runtime": 3,
    "builtin": 4,
    "compose": 4,
    "testing": 5,
    "demo": 5,
    "cli": 6,
    "__main__": 7,
}
PURE = ("tools", "events", "registry")
IMPURE_MODULES = {
    "anyio",
    "asyncio",
    "importlib",
    "io",
    "os",
    "pathlib",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}
MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports: at the top, in functions, and for types alone."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def graph() -> dict[str, set[str]]:
    names = {dotted(path): path for path in modules()}
    return {
        name: {target for target in imported(path) if target in names} - {name}
        for name, path in names.items()
        if name != "salvor"
    }


def test_every_room_has_a_layer() -> None:
    rooms = {room(dotted(path)) for path in modules()} - {""}

    assert rooms <= LAYERS.keys()


def test_a_room_imports_lower_layers_only() -> None:
    wrong = [
        f"{module} (L{LAYERS[room(module)]}) imports {target} (L{LAYERS[room(target)]})"
        for module, targets in graph().items()
        for target in targets - {"salvor"}
        if room(module) != room(target)
        and LAYERS[room(target)] >= LAYERS[room(module)]
        and LAYERS[room(module)] > 0
    ]
    ground = [
        f"{module} imports {target}"
        for module, targets in graph().items()
        for target in targets - {"salvor"}
        if LAYERS[room(module)] == 0 and LAYERS[room(target)] > 0
    ]

    assert wrong + ground == []


def test_nobody_inside_imports_the_facade() -> None:
    guilty = [
        dotted(path)
        for path in modules()
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.ImportFrom) and node.module == "salvor")
        or (isinstance(node, ast.Import) and any(alias.name == "salvor" for alias in node.names))
    ]

    assert guilty == []


def test_no_import_loop_even_for_types_or_in_functions() -> None:
    state: dict[str, str] = {}
    loops: list[str] = []

    def visit(module: str, path: tuple[str, ...]) -> None:
        state[module] = "open"
        for target in sorted(graph().get(module, ())):
            if state.get(target) == "open":
                loops.append(" -> ".join((*path[path.index(target) :], target)))
            elif target not in state:
                visit(target, (*path, target))
        state[module] = "done"

    for module in sorted(graph()):
        if module not in state:
            visit(module, (module,))
    assert loops == []


def test_only_the_facade_imports_for_types_alone() -> None:
    guilty = [
        dotted(path)
        for path in modules()
        if path != PACKAGE / "__init__.py"
        and any(
            (isinstance(node, ast.Name) and node.id == "TYPE_CHECKING")
            or (isinstance(node, ast.Attribute) and node.attr == "TYPE_CHECKING")
            for node in ast.walk(tree(path))
        )
    ]

    assert guilty == []


@pytest.mark.parametrize("name", PURE)
def test_a_pure_room_does_no_io_and_asks_no_clock(name: str) -> None:
    guilty = []
    for path in sorted((PACKAGE / name).rglob("*.py")):
        tops = {target.split(".")[0] for target in imported(path)}
        guilty += [f"{dotted(path)} imports {top}" for top in sorted(tops & IMPURE_MODULES)]
        guilty += [
            f"{dotted(path)}:{node.lineno} calls {ast.unparse(node.func)}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call)
            and re.search(r"\b(now|utcnow|today|uuid[1-7]?)$", ast.unparse(node.func))
        ]

    assert guilty == []


def test_the_init_of_every_room_is_empty() -> None:
    full = [dotted(path) for path in PACKAGE.glob("*/**/__init__.py") if path.read_text().strip()]

    assert full == []


def test_no_file_is_longer_than_the_cap() -> None:
    places = ("salvor", "tests", "examples", "benchmarks", "plugins")
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for place in places
        for path in sorted((ROOT / place).rglob("*.py"))
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    ]

    assert long == []


DRIVERS = ("sqlite3", "psycopg")
HEAVY = ("mcp", "starlette", "rich", "pydantic", "jsonschema_rs", "anyio", *DRIVERS)


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import salvor", (*HEAVY, "click", "asyncio")),
        ("from salvor import tool", HEAVY),
        ("from salvor import Context, Depends, INJECTED, Retry, ToolFailure", HEAVY),
        ("from salvor import Registry", ("mcp", "starlette", "rich", *DRIVERS)),
        ("from salvor import open_runtime", ("mcp", "starlette", "rich", "psycopg")),
        (
            "from salvor.cli.main import main; main(['--version'])",
            (*HEAVY, "pluggy", "importlib.metadata"),
        ),
    ],
)
def test_an_import_loads_nothing_heavy(statement: str, unwanted: tuple[str, ...]) -> None:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert sorted(set(unwanted) & set(done.stdout.splitlines())) == []
