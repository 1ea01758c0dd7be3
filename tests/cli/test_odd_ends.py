"""What ends a verb in no ordinary way: one sentence, the right code, and a whole log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from tests.cli.command import Salvor

ODD = """
import asyncio
import sys
from salvor import Run, tool, workflow

class Odd(BaseException):
    pass

@workflow
async def exits(run: Run) -> str:
    await run.now()
    sys.exit(0)

@workflow
async def raises(run: Run) -> str:
    await run.now()
    raise Odd("from a library.")

@tool(effect="write")
def leaving(code: int) -> str:
    '''Leave.'''
    sys.exit(code)

@tool(effect="write")
def odd() -> str:
    '''Raise.'''
    raise Odd("x")

@tool(effect="write")
async def leaking() -> str:
    '''Leak a cancellation.'''
    raise asyncio.CancelledError

@tool(effect="read")
def closing() -> str:
    '''Close standard output.'''
    sys.stdout.close()
    return "x"
"""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    file = tmp_path / "odd.py"
    file.write_text(ODD)
    return file


@pytest.mark.parametrize(
    ("workflow", "said"), [("exits", "sys.exit(0)"), ("raises", "Odd: from a library,")]
)
def test_a_workflow_that_ends_the_process_is_told_of(
    salvor: Salvor, odd: Path, workflow: str, said: str
) -> None:
    ended = salvor("run", f"{odd}:{workflow}")

    assert ended.code == 1
    assert said in ended.complaint
    assert "running" in salvor("list").out


@pytest.mark.parametrize(
    ("tool", "given"), [("leaving", '{"code": 0}'), ("odd", "{}"), ("leaking", "{}")]
)
def test_a_tool_that_ends_the_process_leaves_its_write_open(
    salvor: Salvor, odd: Path, tool: str, given: str
) -> None:
    ended = salvor("tools", "call", f"{odd}:{tool}", "--input", given)

    assert ended.code == 1
    assert "Traceback" not in ended.err
    assert "resolve" in ended.out + ended.err


def test_standard_output_that_is_full_is_one_sentence(odd: Path, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        done = _command(tmp_path, full, "tools", "list", str(odd))

    assert done.returncode == 1
    assert "standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_tool_that_closes_standard_output_is_one_sentence(odd: Path, tmp_path: Path) -> None:
    done = _command(tmp_path, subprocess.PIPE, "tools", "call", f"{odd}:closing", "--input", "{}")

    assert done.returncode == 1
    assert "standard output cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert ".." not in done.stderr


def _command(folder: Path, out: int | IO[str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "salvor", "--store", str(folder / "s.db"), *args],
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=folder,
    )


NOBODY = """
import os, sys
from salvor.cli.session import existing
from salvor.store_errors import StoreUnavailable
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    existing(sys.argv[1])
except StoreUnavailable as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_store_behind_a_closed_door_is_one_sentence(tmp_path: Path) -> None:
    door = tmp_path / "door"
    door.mkdir(mode=0o700)
    store = str(door / "s.db")

    done = subprocess.run(
        [sys.executable, "-c", NOBODY, store], capture_output=True, text=True, check=False
    )

    assert done.stdout.startswith(f"the store {store} cannot be looked at"), done.stderr


def test_a_module_goes_by_its_name_alone(tmp_path: Path) -> None:
    (tmp_path / "oddly_named_tools.py").write_text(ODD)

    listed = _command(tmp_path, subprocess.PIPE, "tools", "list", "oddly_named_tools")
    none = _command(tmp_path, subprocess.PIPE, "tools", "show", "json")

    assert listed.returncode == 0, listed.stderr
    assert "leaking" in listed.stdout
    assert "json holds no tool" in none.stderr


def test_a_file_is_called_by_its_name(salvor: Salvor, odd: Path) -> None:
    complaint = salvor("run", str(odd)).complaint

    assert complaint.startswith(f"{odd} holds several workflows")


def test_an_endless_input_is_refused_by_its_size(salvor: Salvor, odd: Path) -> None:
    ended = salvor("run", f"{odd}:exits", "--input", "@/dev/zero")

    assert ended.code == 2
    assert "larger than" in ended.complaint
    assert "name of a file" in salvor("run", f"{odd}:exits", "--input", "@").complaint


def test_a_fault_is_placed_in_the_users_own_file(salvor: Salvor, tmp_path: Path) -> None:
    file = tmp_path / "faulty.py"
    file.write_text(
        "from salvor import Run, workflow\n"
        "@workflow\n"
        "async def broken(run: Run) -> dict[str, int]:\n"
        "    return {'a': object()}\n"
    )

    complaint = salvor("run", f"{file}:broken").err

    assert "/salvor/tools/" not in complaint
