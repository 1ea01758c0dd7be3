from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.command import Ended, Salvor

CHECKED = str(Path(__file__).parent / "checked.py")


def rows(ended: Ended) -> list[tuple[str, str, str]]:
    lines = ended.out.splitlines()[1:]
    words = [line.split(maxsplit=2) for line in lines]
    return [(level, subject, found) for level, subject, found in words]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A working directory of the test's own, which tools may write to."""
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        yield tmp_path
    finally:
        os.chdir(before)


def test_a_tool_that_reads_is_called_with_the_examples_of_its_parameters(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:find")

    assert checked.code == 0
    assert rows(checked) == [
        ("ok", "find", 'built and called with {"text":"hail"}: it touched nothing outside')
    ]


def test_a_read_that_writes_is_an_error_and_what_it_prints_is_no_result(
    salvor: Salvor, tmp_path: Path
) -> None:
    place = tmp_path / "noted.txt"
    given = json.dumps({"place": str(place)})
    checked = salvor("tools", "check", f"{CHECKED}:remember", "--arguments", given)

    assert checked.code == 1
    assert rows(checked)[-1] == (
        "error",
        "remember",
        f"it declares 'read', and wrote: it opened for writing {place}",
    )
    assert "noted\n" not in checked.out


def test_a_tool_that_writes_is_never_called(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:send")

    assert checked.code == 0
    assert rows(checked) == [
        ("ok", "send", "built; it declares 'write', so it was not called"),
    ]


def test_without_arguments_a_tool_that_needs_some_is_not_called(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:remember")

    assert checked.code == 0
    [(level, _, found)] = rows(checked)
    assert level == "warning"
    assert "not called: nothing is known to call it with (place)" in found


def test_what_a_tool_did_before_it_took_its_process_along_is_told(
    salvor: Salvor, here: Path
) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:quit_at_once")
    failed, written = rows(checked)

    assert checked.code == 1
    assert failed[2] == "called with {}, it failed: it ended its process with exit code 7"
    assert written[2].endswith(f"it opened for writing {here / 'left.txt'}")


def ended(pid: int) -> bool:
    """True as soon as the system has taken the process away."""
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
    return True


def test_a_call_that_does_not_end_is_killed_with_what_it_started(
    salvor: Salvor, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    given = json.dumps({"place": str(pid)})
    checked = salvor("tools", "check", f"{CHECKED}:hang", "--arguments", given, "--timeout", "4")

    assert checked.code == 1
    assert "it was not done after 4 s and was killed" in checked.out
    assert ended(int(pid.read_text()))


def test_what_is_touched_again_and_again_is_told_once(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:look_twice")

    assert [found for _, _, found in rows(checked)] == [
        "built and called with {}",
        "it connected to 127.0.0.1:9; what the other side did is not seen",
    ]


def test_what_python_compiles_for_itself_is_no_write(salvor: Salvor, here: Path) -> None:
    (here / "late.py").write_text("")
    checked = salvor("tools", "check", f"{CHECKED}:load_late")

    assert checked.code == 0
    assert "it touched nothing outside" in checked.out


def test_an_installed_tool_is_found_by_the_file_of_the_operator(salvor: Salvor, here: Path) -> None:
    (here / "operator.toml").write_text(f"[tools]\nmodules = [{json.dumps(CHECKED)}]\n")
    checked = salvor("--config", "operator.toml", "tools", "check", "find")

    assert checked.code == 0
    assert 'called with {"text":"hail"}' in checked.out


def test_the_tools_of_a_file_are_looked_at_without_an_operator(salvor: Salvor, here: Path) -> None:
    (here / "salvor.toml").write_text('[tools."nowhere"]\ntimeout = 1\n')

    assert salvor("tools", "check", f"{CHECKED}:find").code == 0
    assert salvor("tools", "check", "salvor_now").code == 1


def test_a_call_that_fails_is_an_error(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:refuse")

    assert checked.code == 1
    assert "it failed: ConnectionRefusedError: nobody listens" in checked.out


def test_a_process_that_is_started_is_a_warning(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:outsource")

    assert checked.code == 0
    assert [row[0] for row in rows(checked)] == ["ok", "warning"]
    assert "what that did is not seen" in checked.out


def test_an_installed_tool_goes_by_its_name(salvor: Salvor) -> None:
    checked = salvor("tools", "check", "salvor_now")

    assert (checked.code, [row[1] for row in rows(checked)]) == (0, ["salvor_now"])


def test_a_tool_that_cannot_be_built_hides_no_other(salvor: Salvor, tmp_path: Path) -> None:
    two = tmp_path / "two.py"
    two.write_text(
        "from salvor import tool\n\n"
        '@tool(effect="write")\n'
        "def faulty(of: type) -> None:\n"
        '    """Fault."""\n\n\n'
        '@tool(effect="write")\n'
        "def sound() -> None:\n"
        '    """Sound."""\n'
    )
    checked = salvor("tools", "check", str(two))
    faulty, sound = rows(checked)

    assert checked.code == 1
    assert faulty[:2] == ("error", "faulty")
    assert f"{two}:" in faulty[2]
    assert sound[:2] == ("ok", "sound")


def test_arguments_that_do_not_fit_are_refused_before_anything_is_called(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:find", "--arguments", '{"text": 5}')

    assert checked.code == 1
    assert "/text" in checked.complaint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((CHECKED, "--arguments", "{}"), "--arguments belongs to one tool"),
        ((f"{CHECKED}:send", "--arguments", "{}"), "send declares 'write'"),
        ((CHECKED, "--arguments", "[]"), "has to be a JSON object"),
    ],
)
def test_arguments_are_for_one_tool_that_reads(
    salvor: Salvor, words: tuple[str, ...], said: str
) -> None:
    checked = salvor("tools", "check", *words)

    assert checked.code == 2
    assert said in checked.complaint


def test_a_module_without_tools_says_so(salvor: Salvor) -> None:
    assert "json.decoder holds no tool" in salvor("tools", "check", "json.decoder").complaint
