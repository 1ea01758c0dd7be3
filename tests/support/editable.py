"""A source tree as an editable installation leaves it, without asking an index."""

from __future__ import annotations

import tomllib
from pathlib import Path


def install_editable(place: Path) -> None:
    """Write the metadata beside the package, where the path finds both."""
    project = tomllib.loads((place / "pyproject.toml").read_text())["project"]
    info = place / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    needs = "".join(f"Requires-Dist: {one}\n" for one in project["dependencies"])
    (info / "METADATA").write_text(head + needs)
    [(name, value)] = project["entry-points"]["salvor"].items()
    (info / "entry_points.txt").write_text(f"[salvor]\n{name} = {value}\n")
