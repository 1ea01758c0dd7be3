"""The comparison beside other durable engines, as far as it goes without them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.engines.catalogue import DISTRIBUTIONS, ENTRIES, OURS, load, present
from benchmarks.engines.once import main
from benchmarks.engines.report import Side, in_process, rates, report, sides_of, table

SIDES = [Side("a", 0, "salvor", "ours."), Side("b", 1, "other", "theirs.")]
FOREIGN = {"DBOS": "dbos", "LangGraph": "langgraph"}


def has(*found: str) -> Callable[[str], str | None]:
    return lambda distribution: "9.0" if distribution in found else None


def test_without_engines_one_line_says_so_and_how_to_get_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report(look=has())

    assert capsys.readouterr().out.split("\n") == [
        "",
        "Engines that are not installed: dbos, langgraph, langgraph-checkpoint-sqlite; "
        "pip install -e '.[bench]' brings them.",
        "",
    ]


def test_an_engine_takes_part_when_all_it_needs_is_there() -> None:
    assert present(has()) == [OURS]
    assert present(has("dbos", "langgraph")) == [OURS, "DBOS"]
    assert present(has(*DISTRIBUTIONS)) == list(ENTRIES)


@pytest.mark.parametrize("name", FOREIGN)
def test_an_adapter_uses_the_package_it_is_there_for_and_declares_an_engine(name: str) -> None:
    spec = find_spec(ENTRIES[name].module)
    assert spec is not None
    assert spec.origin is not None
    body = ast.parse(Path(spec.origin).read_text()).body
    imported = {
        (node.module or "").split(".")[0] for node in body if isinstance(node, ast.ImportFrom)
    }
    declared = {
        node.target.id
        for node in body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }

    assert FOREIGN[name] in imported
    assert "ENGINE" in declared


def test_every_side_has_its_turn_in_each_round() -> None:
    turns: list[tuple[str, int, int]] = []

    def measure(side: Side, runs: int, calls: int) -> float:
        turns.append((side.name, runs, calls))
        return float(len(turns))

    found = rates(SIDES, 16, 20, 2, measure)

    assert turns == [(name, 16, 20) for name in ("salvor", "other", "salvor", "other")]
    assert found == {"salvor": [1.0, 3.0], "other": [2.0, 4.0]}


def test_rates_are_medians_and_ratios_are_those_of_the_same_round() -> None:
    assert table({"other": [50.0, 200.0, 100.0], "salvor": [100.0, 300.0, 400.0]}) == [
        "  other                             100 /s   salvor is  2.00 x [1.50..4.00]",
        "  salvor                            300 /s",
    ]


@pytest.mark.parametrize("way", range(len(load(OURS).ways)))
def test_our_own_sides_tell_their_seconds(way: int, capsys: pytest.CaptureFixture[str]) -> None:
    main([OURS, str(way), "2", "3"])

    assert float(capsys.readouterr().out) > 0


def test_a_measurement_is_a_process_of_its_own() -> None:
    [_, ours] = sides_of([OURS])

    assert ours.name == OURS
    assert in_process(ours, 1, 2) > 0
