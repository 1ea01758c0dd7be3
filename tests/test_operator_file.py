"""From the operator's file to the tools of a runtime and of the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from salvor.compose import furnish, open_runtime
from salvor.config import Config, ToolSettings, load_config
from salvor.errors import ConfigError, TargetError
from salvor.plugins.loader import PluginReport, Plugins
from salvor.registry.registry import Registry

ROOT = Path(__file__).parents[1]

TOOLS = '''\
from salvor import tool

@tool(effect="read")
def find(claim: str) -> str:
    """Find a claim."""
    return claim

@tool(effect="idempotent")
def pay(claim: str) -> str:
    """Pay a claim."""
    with open("ledger", "a") as ledger:
        print(claim, file=ledger)
    return claim
'''
FILE = """\
[tools]
modules = ["desk.py"]

[tools.pay]
effect = "write"
key = "claim"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "desk.py").write_text(TOOLS)
    (tmp_path / "salvor.toml").write_text(FILE)
    return tmp_path


def python(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def salvor(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return python(folder, "-m", "salvor", *words, **environ)


def test_a_runtime_hears_the_operator_without_being_told(folder: Path) -> None:
    (folder / "main.py").write_text(
        "import asyncio\n"
        "from salvor import open_runtime\n"
        "async def main():\n"
        "    async with open_runtime('memory:', plugins=False) as runtime:\n"
        "        pay = runtime.registry.get('pay')\n"
        "        print(pay.effect, pay.meta.idempotency_key)\n"
        "        for _ in range(2):\n"
        "            await runtime.call_tool(pay, {'claim': 'C-1'})\n"
        "asyncio.run(main())\n"
    )

    assert python(folder, "main.py").stdout == "write claim\n"
    assert (folder / "ledger").read_text() == "C-1\n"


@pytest.mark.anyio
async def test_a_runtime_may_be_told_what_the_operator_says(folder: Path) -> None:
    elsewhere = folder / "other.toml"
    elsewhere.write_text('[tools]\nmodules = ["desk.py"]\n[tools.find]\ntimeout = "2s"\n')

    async with open_runtime("memory:", plugins=False, config=elsewhere) as runtime:
        assert runtime.registry.get("find").meta.timeout == 2.0
        assert runtime.registry.get("pay").effect == "idempotent"
    async with open_runtime("memory:", plugins=False, config=Config()) as runtime:
        assert len(runtime.registry) == 0


def test_files_among_the_modules_are_found_beside_the_operators_file(
    folder: Path,
) -> None:
    registry = Registry()

    furnish(registry, load_config(folder / "salvor.toml"), plugins=False)

    assert [found.name for found in registry] == ["find", "pay"]


def test_the_word_is_heard_on_plugins_too(folder: Path) -> None:
    registry = Registry()
    (folder / "salvor.toml").write_text('[tools.salvor_now]\neffect = "write"\n')

    furnish(registry, load_config(folder / "salvor.toml"))

    assert registry.get("salvor_now").effect == "write"


def test_allow_and_block_lists_reach_the_plugins(folder: Path) -> None:
    (folder / "salvor.toml").write_text('[plugins]\nblock = ["builtin"]\n')
    registry = Registry()

    plugins = furnish(registry, load_config(folder / "salvor.toml"))

    assert "salvor_now" not in registry
    assert {report.status for report in plugins if report.entry_point == "builtin"} == {"blocked"}


def test_unknown_names_are_errors_with_line_and_spelling(folder: Path) -> None:
    (folder / "salvor.toml").write_text(FILE.replace("tools.pay", "tools.pya"))

    with pytest.raises(ConfigError) as caught:
        furnish(Registry(), load_config(folder / "salvor.toml"), plugins=False)

    assert str(caught.value) == (
        f'{folder}/salvor.toml: line 4: [tools."pya"]: there is no tool of that name. '
        "Did you mean 'pay'?"
    )


def test_a_word_on_a_tool_of_a_plugin_that_is_left_out_says_why_it_is_missing() -> None:
    report = PluginReport(
        distribution="acme",
        version="1",
        entry_point="main",
        value="acme",
        status="failed",
        error="ImportError: no wind.",
    )
    config = Config(tools={"acme_pay": ToolSettings(effect="write")})

    with pytest.raises(ConfigError) as caught:
        furnish(Registry(), config, plugins=Plugins(reports=(report,)))

    assert caught.value.faults[-1] == "The plugin acme:main is left out: ImportError: no wind."


def test_a_module_that_cannot_be_loaded_is_named(folder: Path) -> None:
    with pytest.raises(TargetError, match=r"no\.such"):
        furnish(Registry(), Config(modules=("no.such",)), plugins=False)


def test_the_list_shows_where_the_operators_word_differs(folder: Path) -> None:
    listed = salvor(folder, "tools", "list").stdout.splitlines()
    by_name = {line.split()[0]: line for line in listed}

    assert listed[0].split() == ["TOOL", "EFFECT", "KEYED", "FROM", "OPERATOR", "DESCRIPTION"]
    assert "effect write (declared: idempotent); key claim (declared: none)" in by_name["pay"]
    assert " - " in by_name["find"]
    assert "(declared" not in by_name["find"]


def test_one_tool_shows_its_provenance_and_the_operators_word(folder: Path) -> None:
    page = salvor(folder, "tools", "show", "pay").stdout

    assert page.startswith("pay\n  effect    write\n  key       claim\n  from      ")
    assert "  source    native\n" in page
    assert "  operator  effect write (declared: idempotent)\n" in page


def test_a_call_obeys_the_operator_by_name_and_by_file(folder: Path) -> None:
    given = ("--input", '{"claim": "C-1"}')

    for tool in ("pay", "desk.py:pay"):
        assert salvor(folder, "tools", "call", tool, *given).returncode == 0

    assert (folder / "ledger").read_text() == "C-1\n"


def test_the_option_wins_over_the_environment_and_the_folder(folder: Path) -> None:
    (folder / "a.toml").write_text('[tools.salvor_now]\neffect = "idempotent"\n')
    gone = {"SALVOR_CONFIG": "gone.toml"}

    asked = salvor(folder, "--config", "a.toml", "tools", "list", "salvor_now", **gone)
    refused = salvor(folder, "tools", "list", **gone)

    (folder / "salvor.toml").write_text("nonsense")
    called = salvor(folder, "--config", "a.toml", "tools", "call", "salvor_now")

    assert called.returncode == 0
    assert "declared: read" in asked.stdout
    assert refused.stderr == ("salvor: gone.toml: it cannot be read: No such file or directory.\n")
    assert salvor(folder, "--version", **gone).returncode == 0
    bare = salvor(folder, "plugins", "list", "--no-load", SALVOR_CONFIG="")
    assert "builtin" in bare.stdout
    assert salvor(folder, "list", **gone).returncode == 0


def test_the_doctor_names_a_file_that_cannot_be_used_beside_all_else(folder: Path) -> None:
    (folder / "salvor.toml").write_text('[tools.pay]\neffect = "write"\n')

    done = salvor(folder, "doctor")

    assert done.returncode == 1
    assert "there is no tool of that name" in done.stdout
    assert "builtin" in done.stdout or "plugins" in done.stdout


def test_a_fault_of_the_file_is_one_sentence(folder: Path) -> None:
    (folder / "salvor.toml").write_text('[tools.pay]\nefect = "write"\n')

    done = salvor(folder, "tools", "list")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "salvor: salvor.toml: line 2: tools.pay.efect: there is no such key. "
        "Did you mean 'effect'?\n"
    )
