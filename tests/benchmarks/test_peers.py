"""The comparison beside other frameworks, as far as it goes without them."""

from __future__ import annotations

import ast
import os
import re
import tomllib
from collections.abc import Callable
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.engines.catalogue import DISTRIBUTIONS
from benchmarks.peers import measures
from benchmarks.peers.case import DOCUMENTED, TEXT, copies, pay
from benchmarks.peers.catalogue import ENTRIES, FLOOR, OURS, PEERS, load, missing
from benchmarks.peers.peer import CallPath, Lists, Peer
from benchmarks.peers.report import report
from benchmarks.peers.starting import started
from benchmarks.peers.trials import TRIALS, documents, shares, tried

ROOT = Path(__file__).parents[2]
FOREIGN = {
    "pydantic-ai": "pydantic_ai",
    "fastmcp": "fastmcp",
    "mcp": "mcp",
    "openai-agents": "agents",
    "langchain-core": "langchain_core",
}


@pytest.fixture(autouse=True)
def anyio_backend() -> str:
    return "asyncio"


def adapter(name: str) -> ast.Module:
    spec = find_spec(ENTRIES[name].module)
    assert spec is not None
    assert spec.origin is not None
    return ast.parse(Path(spec.origin).read_text())


@pytest.mark.parametrize("name", PEERS)
def test_an_adapter_uses_the_package_it_is_there_for_and_declares_a_peer(name: str) -> None:
    body = adapter(name).body
    imported = {
        (node.module or "").split(".")[0] for node in body if isinstance(node, ast.ImportFrom)
    }
    assigned = {
        target.id
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }

    assert FOREIGN[name] in imported
    assert "PEER" in assigned


def test_the_extra_brings_every_peer_and_every_engine() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    brought = {re.split(r"[<>=~]", one)[0] for one in extras["optional-dependencies"]["bench"]}

    assert brought == {ENTRIES[name].distribution for name in PEERS} | set(DISTRIBUTIONS)


def test_without_peers_one_line_says_so_and_how_to_get_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report(look=lambda _distribution: None)

    assert capsys.readouterr().out.split("\n") == [
        "",
        "Peers that are not installed: pydantic-ai, fastmcp, mcp, openai-agents, langchain-core; "
        "pip install -e '.[bench]' brings them.",
        "",
    ]


def test_a_peer_that_its_adapter_no_longer_fits_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def loading(name: str) -> Peer:
        raise ImportError(f"{name} moved it")

    report(look=lambda found: "9.0" if found in ("mcp", "fastmcp") else None, loading=loading)

    assert capsys.readouterr().out.splitlines()[2:] == [
        "",
        "fastmcp cannot be measured: ImportError: fastmcp moved it",
        "",
        "mcp cannot be measured: ImportError: mcp moved it",
    ]


def test_those_that_are_installed_are_not_missing() -> None:
    assert missing(lambda distribution: "1.0" if distribution == "mcp" else None) == [
        name for name in PEERS if name != "mcp"
    ]


def test_a_word_that_is_no_section_is_refused_with_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["peer"])

    assert ended.value.code == 2
    assert "usage: python -m benchmarks" in (said := capsys.readouterr().err)
    assert "peers" in said


def test_copies_are_functions_of_their_own_names() -> None:
    first, second = copies(2)

    assert (first.__name__, second.__name__) == ("pay_0000", "pay_0001")
    assert first.__doc__ == pay.__doc__
    assert first.__annotations__ == pay.__annotations__
    assert first.__annotations__ is not second.__annotations__


@pytest.mark.anyio
@pytest.mark.parametrize("path", load(OURS).calls, ids=lambda path: path.name)
async def test_salvor_refuses_all_that_is_tried(path: CallPath) -> None:
    found = await tried(path)

    assert found.verdicts == dict.fromkeys(TRIALS, "refused")
    assert found.validates
    assert found.checks_output


@pytest.mark.anyio
async def test_the_floor_validates_and_looks_at_nothing_else() -> None:
    [path] = load(FLOOR).calls
    found = await tried(path)

    assert found.verdicts == {
        "wrong type": "refused",
        "true as number": "taken",
        "extra argument": "taken",
        "named twice": "taken",
        "wrong output": "crashes",
    }


@pytest.mark.anyio
@pytest.mark.parametrize("name", [FLOOR, OURS])
async def test_every_way_to_call_gives_back_the_receipt(name: str) -> None:
    for path in load(name).calls:
        async with path.open(pay) as calls:
            assert "claim-17" in str(await calls(TEXT, 2))


@pytest.mark.anyio
async def test_every_form_of_ours_describes_parameters_and_the_floor_does_not() -> None:
    assert [await documents(one) for one in load(OURS).lists] == [True, True, True]
    assert [await documents(one) for one in load(FLOOR).lists] == [False]
    assert DOCUMENTED in str(pay.__doc__)


@pytest.mark.anyio
async def test_no_listing_of_ours_hands_out_what_another_one_did() -> None:
    kept: dict[str, Any] = {"name": "pay", "parameters": {"type": "object"}}

    def listing(made: Callable[[], dict[str, Any]]) -> Lists:
        async def listed() -> list[dict[str, Any]]:
            return [made()]

        return Lists(name="theirs", says="", open=lambda _: listed)

    assert [await shares(one) for one in load(OURS).lists] == [False, False, False]
    assert await shares(listing(lambda: dict(kept)))
    assert not await shares(listing(lambda: deepcopy(kept)))


@pytest.mark.anyio
async def test_every_measure_has_a_figure_for_every_side_and_round() -> None:
    sides = [load(FLOOR), load(OURS)]
    calls = [path for side in sides for path in side.calls]
    ways = [way for side in sides for way in side.registering]
    forms = [form for side in sides for form in side.lists]
    first, later = await measures.listed(forms, rounds=2, tools=2)

    rounds = {
        **await measures.called(calls, rounds=2, calls=2),
        **await measures.registered(ways, rounds=2, functions=2),
        **later,
    }

    names = [path.name for path in calls] + [way.name for way in ways]
    assert set(rounds) == {*names, *first}
    assert all(len(values) == 2 and min(values) > 0 for values in rounds.values())
    assert set(first) == {one.name for one in forms}


def test_ratios_are_taken_within_rounds() -> None:
    table = measures.figures({"floor": [1.0, 10.0, 4.0], "other": [2.0, 30.0, 4.0]}, "floor")

    assert table["other"] == measures.Figure(4.0, 2.0)
    assert table["floor"] == measures.Figure(4.0, 1.0)


def test_a_program_is_timed_whole_with_the_modules_it_loads() -> None:
    table = started({"nothing": "pass", "one more": "import salvor.version"}, rounds=1)

    assert table["one more"].modules > table["nothing"].modules
    assert table["nothing"].millis > 0


def test_a_program_finds_its_modules_compiled_whatever_the_environment_says(
    tmp_path: Path,
) -> None:
    (tmp_path / "imported.py").write_text("")
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(tmp_path / "compiled"),
    }

    started({"one": "import imported"}, rounds=1, environment=environment)

    assert [path.name for path in (tmp_path / "compiled").rglob("imported.*.pyc")] != []


@pytest.mark.parametrize("index", range(len(load(OURS).calls)))
def test_a_whole_program_of_ours_registers_and_calls(index: int) -> None:
    program = f"from benchmarks.peers.once import once\nonce({OURS!r}, {index})"

    assert started({"once": program}, rounds=1)["once"].modules > 100


def test_the_figures_on_the_page_are_of_everybody_and_of_todays_rows() -> None:
    printed = (ROOT / "benchmarks/peers/figures.txt").read_text()
    sides = [load(FLOOR), load(OURS)]
    rows = [path.name for side in sides for path in side.calls]
    rows += [way.name for side in sides for way in side.registering]
    rows += [form.name for side in sides for form in side.lists]
    rows += [statement for side in sides for statement in side.imports]

    assert [name for name in PEERS if f" {ENTRIES[name].distribution} " not in printed] == []
    assert [
        row for row in rows if not re.search(rf"^  {re.escape(row)} +[0-9]", printed, re.MULTILINE)
    ] == []
    assert "not installed" not in printed
