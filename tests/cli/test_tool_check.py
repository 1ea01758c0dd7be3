from __future__ import annotations

import json
import os
from collections.abc import Iterator
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


def test_a_call_that_does_not_end_is_killed(salvor: Salvor) -> None:
    checked = salvor("tools", "check", f"{CHECKED}:hang", "--timeout", "3")

    assert checked.code == 1
    assert "it was not done after 3 s and was killed" in checked.out


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
