"""What ends a verb in no ordinary way: one sentence, the right code, and a whole log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from salvor.cli.main import _foreign, _printed
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

@workflow
async def leaks(run: Run) -> str:
    await run.now()
    raise asyncio.CancelledError

@workflow
async def closes(run: Run) -> str:
    await run.now()
    raise GeneratorExit

@workflow
async def groups(run: Run) -> str:
    await run.now()
    raise BaseExceptionGroup("several", [Odd("x")])

@workflow
async def breaks_off(run: Run) -> str:
    await run.now()
    raise KeyboardInterrupt

@workflow
async def two_at_a_time(run: Run) -> str:
    return str(await asyncio.gather(run.call(resting), run.call(resting)))

@workflow
async def misfit(run: Run) -> dict[str, int]:
    return {"a": object()}

@workflow
async def asks(run: Run) -> str:
    return await run.suspend("Well?", str)

@tool(effect="read")
async def resting() -> str:
    '''Let others go on.'''
    await asyncio.sleep(0)
    return "x"

@tool(effect="read")
def printing() -> str:
    '''Print and leave it in the buffer.'''
    print("x", end="")
    return "x"

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
    ("workflow", "code", "said"),
    [
        ("exits", 1, "sys.exit(0)"),
        ("raises", 1, "Odd: from a library"),
        ("leaks", 1, "CancelledError"),
        ("closes", 1, "GeneratorExit"),
        ("groups", 1, "BaseExceptionGroup: several (1 sub-exception)"),
        ("breaks_off", 130, "KeyboardInterrupt"),
    ],
)
def test_a_workflow_that_ends_the_process_is_told_of(
    salvor: Salvor, odd: Path, store: Path, workflow: str, code: int, said: str
) -> None:
    ended = salvor("run", f"{odd}:{workflow}")

    assert ended.code == code
    assert ended.err == (
        f"salvor: the code of run {ended.run_id} ended the drive with {said}.\n"
        "See where it stands, and go on:\n"
        f"  salvor --store {store} history {ended.run_id}\n"
        f"  salvor --store {store} resume {ended.run_id}\n"
    )
    assert "driven by nobody: resume goes on" in salvor("list").out


def test_a_resumed_workflow_is_told_of_too(salvor: Salvor, odd: Path) -> None:
    run_id = salvor("run", f"{odd}:raises").run_id
    again = salvor("resume", run_id)

    assert again.code == 1
    assert again.err.startswith(f"salvor: the code of run {run_id} ended the drive with Odd")


def test_two_steps_at_a_time_are_refused_with_the_way_on(
    salvor: Salvor, odd: Path, store: Path
) -> None:
    ended = salvor("run", f"{odd}:two_at_a_time")
    sentence, *way_on = ended.err.splitlines()

    assert ended.code == 1
    assert "Await each step before the next. When the code is mended, the run goes on." in sentence
    assert way_on[-1] == f"  salvor --store {store} resume {ended.run_id}"


def test_what_ends_the_command_itself_is_told_of(
    salvor: Salvor, odd: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _foreign(SystemExit(0), {"store": "runs.db"})

    assert code == 1
    assert capsys.readouterr().err == (
        "salvor: the code that ran ended the command with sys.exit(0). What was recorded is "
        "whole: `salvor --store runs.db list` shows the runs, `salvor --store runs.db resume RUN` "
        "goes on with one.\n"
    )


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
        for words in (("tools", "list", str(odd)), ("--version",), ("run", "--help")):
            done = _command(tmp_path, full, *words)

            assert done.returncode == 1
            assert done.stderr.startswith(
                "salvor: standard output cannot be written: No space left on device. "
            )
            assert done.stderr.count("\n") == 1


def test_help_whose_reader_goes_away_is_no_fault(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        for words in (("--help",), ("run", "--help")):
            done = _command(tmp_path, pipe, *words)

            assert (done.returncode, done.stderr) == (0, "")


def test_a_pipe_that_breaks_elsewhere_is_not_taken_for_that_of_the_reader(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _printed(BrokenPipeError(32, "Broken pipe"), {}) == 1
    assert "a fault of salvor itself: BrokenPipeError" in capsys.readouterr().err


def test_a_closed_standard_output_is_one_sentence(odd: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        f"exec {sys.executable} -m salvor tools list {odd} >&-",
        shell=True,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("salvor: standard output cannot be written: it is closed. ")
    assert done.stderr.count("\n") == 1


def test_a_tool_that_closes_standard_output_is_one_sentence(odd: Path, tmp_path: Path) -> None:
    done = _command(tmp_path, subprocess.PIPE, "tools", "call", f"{odd}:closing", "--input", "{}")
    run_id = done.stdout.split()[1]

    assert done.returncode == 1
    assert done.stderr == (
        "salvor: standard output cannot be written: it is closed.\n"
        "See where it stands, and go on:\n"
        f"  salvor --store {tmp_path / 's.db'} history {run_id}\n"
        f"  salvor --store {tmp_path / 's.db'} resume {run_id}\n"
    )


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


def test_a_fault_is_placed_in_the_users_own_file(salvor: Salvor, odd: Path) -> None:
    line = ODD.splitlines().index("async def misfit(run: Run) -> dict[str, int]:")

    complaint = salvor("run", f"{odd}:misfit").err

    assert f"a fault in its workflow ({odd}:{line}): misfit returned" in complaint


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{odd}:asks"),
        ("run", "{odd}:misfit"),
        ("run", "{odd}:raises"),
        ("tools", "call", "{odd}:odd"),
    ],
)
def test_no_command_comes_back_to_a_store_in_memory(
    salvor: Salvor, odd: Path, words: tuple[str, ...]
) -> None:
    ended = salvor(*(word.format(odd=odd) for word in words), "--store", "memory:")
    said = ended.out + ended.err

    assert "The store was in memory, and is gone with this process" in said
    assert "  salvor " not in said


def test_a_store_of_any_name_is_named_so_that_the_command_works(odd: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"it's \xff\n.db")
    asked = subprocess.run(
        [sys.executable, "-m", "salvor", "--store", name, "run", f"{odd}:asks"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    [command] = [line for line in asked.stdout.splitlines() if line.startswith("  salvor ")]
    words = command.replace("<string>", '"so"').replace(
        "  salvor", f"{sys.executable} -m salvor", 1
    )
    done = subprocess.run(
        ["bash", "-c", words], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert "$'it\\047s \\377\\012.db'" in command
    assert (done.returncode, done.stdout) == (0, '"so"\n'), done.stderr


def test_tools_of_a_file_are_listed_under_its_path(salvor: Salvor, odd: Path) -> None:
    rows = salvor("tools", "list", str(odd)).out.splitlines()[1:]

    assert {row.split()[3] for row in rows} == {str(odd)}


def test_a_missing_argument_and_its_choices_are_one_line(salvor: Salvor) -> None:
    complaint = salvor("completions").complaint

    assert complaint.endswith(
        "Choose from: bash, fish, zsh. `salvor completions --help` shows what is possible."
    )


def test_a_store_that_cannot_be_looked_at_is_one_sentence(salvor: Salvor, tmp_path: Path) -> None:
    complaint = salvor("--store", str(tmp_path / ("x" * 300) / "s.db"), "list").complaint

    assert "cannot be looked at: File name too long." in complaint
