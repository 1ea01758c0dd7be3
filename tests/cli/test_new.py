from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Salvor
from tests.plugins.distributions import salvor as command
from tests.support.editable import install_editable

ROOT = Path(__file__).parents[2]


@pytest.fixture
def made(salvor: Salvor, tmp_path: Path) -> Path:
    """A package as `salvor new plugin` makes it."""
    assert salvor("new", "plugin", "acme-ledger", "--into", str(tmp_path)).code == 0
    return tmp_path / "acme-ledger"


def within(place: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_package_passes_its_own_tests_at_once(made: Path) -> None:
    assert " passed" in within(made, "pytest", "-q", "-p", "no:cacheprovider")


def test_a_package_is_found_as_a_plugin_once_it_is_installed(made: Path) -> None:
    install_editable(made)
    listed = command([ROOT, made], "plugins", "list", cwd=made.parent).stdout
    tools = command([ROOT, made], "tools", "list", cwd=made.parent).stdout
    checked = command([ROOT, made], "tools", "check", "acme_ledger_count_words", cwd=made.parent)

    [line] = [line for line in listed.splitlines() if line.startswith("acme-ledger")]
    assert "main = acme_ledger.plugin" in line
    assert " loaded " in line
    assert "acme_ledger_count_words" in tools
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "it touched nothing outside" in checked.stdout


def test_a_package_breaks_its_own_tests_when_its_tool_is_broken(made: Path) -> None:
    tools = made / "acme_ledger/tools.py"
    tools.write_text(tools.read_text().replace("+ 1", "+ 2"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=made,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "2 failed" in done.stdout


@pytest.mark.slow
def test_a_package_breaks_its_own_tests_when_its_read_writes(made: Path) -> None:
    tools = made / "acme_ledger/tools.py"
    tools.write_text(
        tools.read_text().replace("counts: dict", 'open("kept", "w").close()\n    counts: dict')
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=made,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "count_words (read), without a crash: a read changed something outside" in done.stdout


@pytest.mark.slow
def test_a_package_is_typed_and_in_order(made: Path) -> None:
    assert "Success" in within(made, "mypy")
    config = str(ROOT / "pyproject.toml")
    within(made, "ruff", "check", "--no-cache", "--config", config, ".")
    within(made, "ruff", "format", "--no-cache", "--check", "--config", config, ".")


def test_no_placeholder_is_left_and_the_name_is_used(made: Path) -> None:
    texts = {path: path.read_text() for path in made.rglob("*") if path.is_file()}

    assert [path for path, text in texts.items() if "$" in text] == []
    assert (made / ".gitignore").exists()
    assert (made / "acme_ledger/py.typed").exists()


def test_what_to_do_next_is_said(salvor: Salvor, tmp_path: Path) -> None:
    said = salvor("new", "plugin", "tide.tables", "--into", str(tmp_path)).out

    assert "salvor tools check tide_tables.tools" in said
    assert (tmp_path / "tide.tables/tide_tables/tools.py").exists()


def test_what_is_there_is_not_touched(salvor: Salvor, made: Path) -> None:
    kept = made / "acme_ledger/tools.py"
    kept.write_text("mine")
    again = salvor("new", "plugin", "acme-ledger", "--into", str(made.parent))

    assert again.code == 1
    assert "is there already" in again.complaint
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("name", ["1st", "Acme", "acme_", "a b", "../up", "a" * 41, "é"])
def test_a_name_that_no_distribution_can_have_is_refused(
    salvor: Salvor, tmp_path: Path, name: str
) -> None:
    refused = salvor("new", "plugin", name, "--into", str(tmp_path))

    assert refused.code == 2
    assert repr(name) in refused.complaint
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize(("name", "code"), [("json", 2), ("class", 2), ("salvor", 2), ("click", 1)])
def test_a_name_that_another_module_has_is_refused(
    salvor: Salvor, tmp_path: Path, name: str, code: int
) -> None:
    refused = salvor("new", "plugin", name, "--into", str(tmp_path))

    assert refused.code == code
    assert repr(name) in refused.complaint
    assert not (tmp_path / name).exists()


def test_a_directory_that_cannot_be_written_is_named(salvor: Salvor) -> None:
    refused = salvor("new", "plugin", "acme-ledger", "--into", "/proc")

    assert refused.code == 1
    assert refused.complaint.startswith("/proc/acme-ledger cannot be made: ")
