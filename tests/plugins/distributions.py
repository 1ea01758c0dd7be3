"""Small distributions, installed for real into a directory of the test's own."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias
from zipfile import ZipFile

Run: TypeAlias = "subprocess.CompletedProcess[str]"

GOOD = """
    import salvor

    @salvor.tool(effect="read")
    def {tool}(name: str) -> str:
        "Find."
        return f"found {{name}}"

    @salvor.hookimpl
    def salvor_register_tools(plugin):
        plugin.registry.add({tool})
"""


def good(tool: str) -> str:
    """The source of a plugin with one tool."""
    return GOOD.format(tool=tool)


def wheel(
    place: Path,
    name: str,
    version: str,
    source: str,
    *,
    entry: str = "main",
    module: str | None = None,
    requires: Sequence[str] = (),
) -> Path:
    """Build a wheel with one module, whose entry point is in the group ``salvor``."""
    escaped = name.replace("-", "_")
    module = module or f"{escaped}_plugin"
    info = f"{escaped}-{version}.dist-info"
    files = {
        f"{module}.py": textwrap.dedent(source),
        f"{info}/METADATA": _metadata(name, version, requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[salvor]\n{entry} = {module}\n" if entry else "",
    }
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    path = place / f"{escaped}-{version}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def install(target: Path, *wheels: Path) -> None:
    """Install wheels with pip, without asking any index."""
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"),
            *("--disable-pip-version-check", "--target", str(target)),
            *map(str, wheels),
        ],
        check=True,
        capture_output=True,
    )


def unpack(target: Path, archive: Path) -> None:
    """Leave behind what installing a wheel does, sooner than pip is there."""
    with ZipFile(archive) as opened:
        opened.extractall(target)


def source_tree(place: Path, name: str, version: str, source: str) -> None:
    """A checkout as an editable installation puts it on the path, metadata included."""
    escaped = name.replace("-", "_")
    info = place / f"{escaped}.egg-info"
    info.mkdir(parents=True)
    (place / f"{escaped}_plugin.py").write_text(textwrap.dedent(source))
    (info / "PKG-INFO").write_text(_metadata(name, version, ()))
    (info / "entry_points.txt").write_text(f"[salvor]\nmain = {escaped}_plugin\n")


def salvor(path: Sequence[Path], *words: str, cwd: Path, **environ: str) -> Run:
    """Run the command in a process that finds what is installed in these directories."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("SALVOR_")}
    env["PYTHONPATH"] = os.pathsep.join(map(str, path))
    return subprocess.run(
        [sys.executable, "-m", "salvor", *words],
        cwd=cwd,
        env={**env, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def _metadata(name: str, version: str, requires: Sequence[str]) -> str:
    lines = [f"Requires-Dist: {requirement}" for requirement in requires]
    return "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines, ""])


def _record(files: dict[str, str], own: str) -> str:
    lines = []
    for file, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{file},sha256={digest.decode()},{len(text.encode())}")
    return "\n".join([*lines, f"{own},,", ""])
