"""The command as a whole: help, versions, pipes, signals, completion."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from salvor.cli.main import VERBS, _fault, cli, main
from salvor.version import __version__
from tests.cli.command import Salvor

COMMAND = [sys.executable, "-m", "salvor"]
WOKEN = """
import time
from pathlib import Path

from salvor import Run, tool, workflow


@tool(effect="read")
def hold(started: str, go: str) -> str:
    \"""Say that it started, and go on as soon as it may.\"""
    Path(started).touch()
    while not Path(go).exists():
        time.sleep(0.01)
    return "done"


@workflow
async def woken(run: Run, started: str, go: str) -> str:
    await run.signal("now", None)
    await run.call(hold, started=started, go=go)
    return await run.call(hold, started=started, go=go)
"""


def test_the_version_is_printed(salvor: Salvor) -> None:
    assert salvor("--version").out == f"salvor {__version__}\n"


def test_without_a_verb_the_help_is_a_usage_error(
    salvor: Salvor, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([])
    printed = capsys.readouterr()

    assert (code, printed.out) == (2, "")
    assert "Commands:" in printed.err
    assert salvor().complaint.startswith("Missing command.")


def test_an_unknown_verb_is_a_usage_error(salvor: Salvor) -> None:
    ended = salvor("rnu")

    assert ended.code == 2
    assert ended.complaint.startswith("No such command 'rnu'")


def test_a_fault_of_salvor_itself_is_a_sentence_too(capsys: pytest.CaptureFixture[str]) -> None:
    code = _fault(LookupError("lost."), {})

    assert code == 1
    assert capsys.readouterr().err == (
        "salvor: a fault of salvor itself: LookupError: lost. "
        "With SALVOR_DEBUG=1 in the environment it shows where.\n"
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(salvor: Salvor, verb: str) -> None:
    ended = salvor(verb, "--help")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: salvor {verb} ")


def options(command: click.Command, path: str) -> list[tuple[str, str]]:
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        found = [(path, "")]
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            found += options(inner, f"{path} {name}")
        return found
    return [
        (path, option)
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option != "--store"
    ] or [(path, "")]


GROUPS = ("approvals", "claims", "new", "plugins", "store", "tools")


@pytest.mark.parametrize(("verb", "option"), options(cli, "salvor"))
def test_every_verb_and_flag_is_in_the_reference(verb: str, option: str) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
    sections = {section.split("\n", 1)[0]: section for section in page.split("\n## ") if section}
    groups = ("salvor", *(f"salvor {name}" for name in GROUPS))
    if verb not in groups:
        [section] = [text for title, text in sections.items() if f"{title} ".startswith(f"{verb} ")]
        assert f"`{option}" in section or not option


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_a_shell_gets_its_completion_script(salvor: Salvor, shell: str) -> None:
    ended = salvor("completions", shell)

    assert ended.code == 0
    assert "_SALVOR_COMPLETE" in ended.out


def test_a_reader_that_goes_away_changes_nothing(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path
) -> None:
    read, write = os.pipe()
    os.close(read)
    given = json.dumps({"numbers": [1, 2]})
    run_id = "0a0a0a0a-0000-4000-8000-000000000003"
    done = subprocess.run(
        [*COMMAND, "--store", str(store), "run", f"{flows}:total", "--input", given,
         "--run-id", run_id],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )  # fmt: skip
    os.close(write)

    assert (done.returncode, done.stderr) == (0, "")
    assert salvor("resume", run_id).out.endswith("\n3\n")


@contextmanager
def started(
    flows: str, store: Path, tmp_path: Path, run_id: str
) -> Iterator[subprocess.Popen[str]]:
    """A run that waits inside its first call."""
    given = json.dumps({"started": str(tmp_path / "started"), "go": str(tmp_path / "go")})
    process = subprocess.Popen(
        [*COMMAND, "--store", str(store), "run", f"{flows}:slow", "--input", given,
         "--run-id", run_id],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    with process:
        try:
            while not (tmp_path / "started").exists():
                assert process.poll() is None
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_first_signal_lets_the_running_call_finish(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run_id = "0a0a0a0a-0000-4000-8000-000000000004"
    with started(flows, store, tmp_path, run_id) as process:
        assert process.stderr is not None
        process.send_signal(number)
        first = process.stderr.readline()
        (tmp_path / "go").touch()
        rest = process.stderr.read()

    assert "stopping after the running call" in first
    assert process.returncode == 130
    assert rest.startswith(f"salvor: run {run_id} was interrupted between two steps.")
    assert "ToolCallCompleted" in salvor("history", run_id).out.splitlines()[-1]
    assert json.loads(salvor("resume", run_id).out) == ["done", "done"]


@pytest.mark.slow
def test_a_sweep_that_is_interrupted_says_so(salvor: Salvor, store: Path, tmp_path: Path) -> None:
    flow = tmp_path / "woken.py"
    flow.write_text(WOKEN)
    given = json.dumps({"started": str(tmp_path / "started"), "go": str(tmp_path / "go")})
    run_id = salvor("run", f"{flow}:woken", "--input", given).run_id
    salvor("signal", run_id, "now")
    command = [*COMMAND, "--store", str(store), "wake"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "started").exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        process.stderr.readline()
        (tmp_path / "go").touch()
        rest = process.stderr.read()

    assert process.returncode == 130
    assert "was interrupted between two steps" in rest
    assert rest.endswith("`salvor wake` goes on with the runs that are due.\n")
    assert salvor("wake").code == 0
    assert "completed" in salvor("list").out


def cut_off(run_id: str, store: Path) -> str:
    """What is said when a call was not waited for."""
    return (
        f"salvor: interrupted; if a call of run {run_id} was under way, it was cut off. "
        "A write that was cut off is left open, and has to be resolved.\n"
        "See where it stands, and go on:\n"
        f"  salvor --store {store} history {run_id}\n"
        f"  salvor --store {store} resume {run_id}\n"
    )


@pytest.mark.slow
def test_a_second_signal_does_not_wait(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path
) -> None:
    run_id = "0a0a0a0a-0000-4000-8000-000000000005"
    with started(flows, store, tmp_path, run_id) as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()

    assert process.returncode == 130
    assert rest == cut_off(run_id, store)
    assert "stopped at event 1" in salvor("resume", run_id).out


@pytest.mark.slow
def test_a_hung_tool_keeps_the_command_for_ten_seconds_at_most(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path
) -> None:
    run_id = "0a0a0a0a-0000-4000-8000-000000000006"
    with started(flows, store, tmp_path, run_id) as process:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate()

    assert process.returncode == 130
    assert said.endswith(cut_off(run_id, store))
    assert "needs-reconciliation" in salvor("list").out
