"""The tutorial page on a package of tools does what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.console import Console
from tests.support.editable import install_editable

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "examples/snippets/package"


@pytest.mark.slow
def test_the_page_leads_from_a_new_package_to_its_use(tmp_path: Path) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SALVOR")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "acme-ledger"), str(ROOT)]),
    }
    made = tmp_path / "acme-ledger"

    Console(tmp_path, environment).follow(SNIPPETS / "new.console")
    for name in ("acme_ledger/tools.py", "tests/test_tools.py", "tests/test_plugin.py"):
        (made / name).unlink()
    for name in ("acme_ledger/plugin.py", "tests/test_ledger.py", "salvor.toml"):
        shutil.copy(SNIPPETS / name, made / name)
    passed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=made,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in passed.stdout, passed.stdout
    install_editable(made)
    Console(made, environment).follow(SNIPPETS / "use.console")
