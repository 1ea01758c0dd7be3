"""A root, something outside of it, and the tools over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calling import Files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the root, with a file that nobody may reach."""
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.txt").write_text("secret")
    return place


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    place = tmp_path / "root"
    place.mkdir()
    return place


@pytest.fixture
def files(root: Path) -> Files:
    return Files(root)
