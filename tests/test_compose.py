"""Opening a runtime, and the synchronous way of running a workflow."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from salvor import Completed, Run, run, workflow
from salvor.errors import WorkflowDefinitionError

ROOT = Path(__file__).parents[1]


@workflow
async def adding(run: Run, left: int, right: int = 1) -> int:
    return left + right


def test_a_workflow_is_run_from_synchronous_code_in_the_store_of_the_environment(
    tmp_path: Path,
) -> None:
    code = (
        "from tests.test_compose import adding; import salvor\n"
        "result = salvor.run(adding, 2, right=3)\n"
        "print(type(result).__name__, result.output)\n"
    )
    store = tmp_path / "runs.db"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SALVOR_STORE": str(store),
            "SALVOR_CONFIG": "",
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "Completed 5\n"
    db = sqlite3.connect(store)
    assert db.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    db.close()


@pytest.mark.anyio
async def test_inside_an_event_loop_it_says_what_to_write_instead() -> None:
    with pytest.raises(WorkflowDefinitionError, match="async with open_runtime"):
        run(adding, 1)
    assert Completed.__name__ == "Completed"
