from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.command import Salvor


def test_installed_tools_are_listed_with_what_they_do_to_the_world(salvor: Salvor) -> None:
    lines = salvor("tools", "list").out.splitlines()

    assert lines[0].split() == ["TOOL", "EFFECT", "KEYED", "FROM", "DESCRIPTION"]
    assert any("salvor.builtin" in line for line in lines[1:])


def test_the_tools_of_a_file_are_listed(salvor: Salvor, flows: str) -> None:
    lines = salvor("tools", "list", flows).out.splitlines()[1:]

    assert [line.split()[:3] for line in lines] == [
        ["add", "read", "-"],
        ["charge", "write", "yes"],
        ["charge_and_die", "write", "-"],
        ["charge_and_lose", "write", "-"],
        ["hold", "write", "-"],
    ]


def test_one_tool_is_shown_in_full(salvor: Salvor, flows: str) -> None:
    page = salvor("tools", "show", f"{flows}:charge").out

    assert page.startswith("charge\n  effect    write\n  key       order\n")
    assert "Charge an order." in page
    schema = json.loads(page.split("Takes:\n")[1].split("Gives:\n")[0])
    assert sorted(schema["properties"]) == ["file", "order"]


def test_an_installed_tool_goes_by_its_name(salvor: Salvor) -> None:
    listed = salvor("tools", "list", "salvor_now")
    called = salvor("tools", "call", "salvor_now")
    again = salvor("resume", called.run_id)

    assert [line.split()[0] for line in listed.out.splitlines()] == ["TOOL", "salvor_now"]
    assert called.code == 0
    assert again.out.endswith(called.body)


def test_a_file_will_do_where_it_holds_one_tool(salvor: Salvor, tmp_path: Path) -> None:
    single = tmp_path / "single.py"
    single.write_text(
        "from salvor import tool\n\n"
        '@tool(effect="idempotent", idempotency_key=("a", "b"))\n'
        "def only(a: int, b: int) -> None:\n"
        '    """Do it."""\n'
    )

    assert "  key       a, b\n" in salvor("tools", "show", str(single)).out
    given = '{"a": 1, "b": 2}'
    assert salvor("tools", "call", str(single), "--input", given).body == "null\n"
    listed = salvor("tools", "list", f"{single}:only")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["TOOL", "only"]


def test_a_module_without_tools_says_so(salvor: Salvor) -> None:
    assert salvor("tools", "list", "json.decoder").out == "There are no tools there.\n"
    assert "json.decoder holds no tool" in salvor("tools", "show", "json.decoder").complaint


def test_a_call_is_a_run_of_its_own(salvor: Salvor, flows: str) -> None:
    called = salvor("tools", "call", f"{flows}:add", "--input", '{"left": 2, "right": 3}')
    history = salvor("history", called.run_id)

    assert (called.code, called.body) == (0, "5\n")
    assert "ToolCallCompleted" in history.out


def test_a_call_left_open_is_resolved_and_resumed_like_any_run(salvor: Salvor, flows: str) -> None:
    lost = salvor("tools", "call", f"{flows}:charge_and_lose", "--input", '{"order": "A-1"}')
    settled = salvor("resolve", lost.run_id, "--output", '"r-1"')
    done = salvor("resume", lost.run_id)

    assert lost.code == 1
    assert settled.code == 0
    assert (done.code, done.out) == (0, '"r-1"\n')


def test_one_key_is_executed_once_across_calls(salvor: Salvor, flows: str, tmp_path: Path) -> None:
    given = json.dumps({"order": "A-1", "file": str(tmp_path / "ledger")})
    first = salvor("tools", "call", f"{flows}:charge", "--input", given)
    second = salvor("tools", "call", f"{flows}:charge", "--input", given)

    assert first.body == second.body
    assert (tmp_path / "ledger").read_text() == "A-1\n"
    assert (
        f"deduplicated from event 1 of run {first.run_id}" in salvor("history", second.run_id).out
    )


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["call", "{flows}:add", "--input", '{"left": "x"}'], 1, "add refused its arguments"),
        (["call", "utc_nov"], 1, "there is no tool called 'utc_nov'"),
        (["show", "{flows}:nothing"], 1, "has no 'nothing'"),
        (["show", "{flows}"], 1, "holds several tools"),
        (["list", "no.such.module"], 1, "there is no module 'no.such.module'"),
        (["call"], 2, "Missing argument 'TOOL'"),
    ],
)
def test_what_is_no_tool_or_does_not_fit_is_refused_in_one_sentence(
    salvor: Salvor, flows: str, words: list[str], code: int, complaint: str
) -> None:
    ended = salvor("tools", *(word.replace("{flows}", flows) for word in words))

    assert (ended.code, ended.out) == (code, "")
    assert complaint in ended.complaint


def test_a_tool_whose_schema_cannot_be_built_is_named_with_place_and_parameter(
    salvor: Salvor, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from salvor import tool\n\n"
        "class Opaque:\n    pass\n\n"
        '@tool(effect="read")\n'
        "def look(at: Opaque) -> str:\n"
        '    """Look at something."""\n'
        "    return ''\n"
    )
    for verb in ("list", "show", "call"):
        ended = salvor("tools", verb, str(broken))
        assert (ended.code, ended.out) == (1, "")
        assert "broken.py:" in ended.complaint
        assert "parameter 'at'" in ended.complaint


def test_a_broken_plugin_is_named_and_stops_nothing(tmp_path: Path) -> None:
    metadata = tmp_path / "storm_tools-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: storm-tools\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text("[salvor]\nstorm = storm_tools\n")
    (tmp_path / "storm_tools.py").write_text("raise RuntimeError('no wind')\n")

    def salvor(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "salvor", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])},
            capture_output=True,
            text=True,
            check=True,
        )

    plugins, tools = salvor("plugins", "list"), salvor("tools", "list")

    assert re.search(
        r"^storm-tools +1\.2 +storm = storm_tools +failed ", plugins.stdout, re.MULTILINE
    )
    assert "salvor.builtin" in tools.stdout
    assert tools.stderr.startswith("salvor: the plugin storm of storm-tools 1.2 is left out: ")
    assert "no wind" in tools.stderr
    assert salvor("--version").stderr == ""


def test_plugins_are_listed_with_what_came_of_them(salvor: Salvor) -> None:
    lines = salvor("plugins", "list").out.splitlines()

    assert lines[0].split()[:2] == ["DISTRIBUTION", "VERSION"]
    assert any("builtin = salvor.builtin" in line and "loaded" in line for line in lines[1:])
