"""The pytest plugin, in a pytest of its own: what its users see."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from typing import Any

import pytest

pytest_plugins = ["pytester"]

MATRIX = """
    from salvor import tool
    from salvor.testing.ledger import Ledger

    @tool(effect="idempotent")
    def mark(claim: str) -> str:
        '''Mark.'''
        Ledger.here().enter(claim)
        return "marked"

    def test_mark(crash_matrix):
        crash_matrix(mark, {"claim": "c-1"})
"""

STORE = """
    import pytest
    from salvor.stores.memory import MemoryStore

    class Forgetful(MemoryStore):
        async def keep_late(self, late):
            pass

    @pytest.fixture
    def salvor_store():
        return lambda clock: {store}(clock=clock)

    def test_my_store_keeps_the_clause(store_check):
        store_check()
"""


@pytest.fixture
def child(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pytest of its own, with one file of tests."""
    for name in ("CI", "BUILD_NUMBER"):  # under either, pytest's summary repeats whole messages
        monkeypatch.delenv(name, raising=False)

    def run(source: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", *arguments)

    return run


def failures(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith(("FAILED", "SUBFAILED", "ERROR"))]


def test_the_plugin_is_found_by_every_pytest_of_the_environment() -> None:
    [found] = entry_points(group="pytest11", name="salvor")

    assert found.value == "salvor.testing.pytest_plugin"


def test_having_the_plugin_costs_an_import_of_pytest_alone() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import salvor.testing.pytest_plugin\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["salvor", "salvor.testing", "salvor.testing.pytest_plugin"]


@pytest.mark.slow
def test_every_point_that_fails_is_a_result_of_its_own(child: Any) -> None:
    result = child(MATRIX)
    listed = failures(result)
    text = result.stdout.str()

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert any("[before event 2 (ToolCallCompleted)]" in line for line in listed)
    assert any("[after entry 1]" in line for line in listed)
    assert not any("during entry 1" in line for line in listed)
    assert "mark (idempotent), killed after entry 1: it happened twice: 2 effects" in text
    assert "effects: 1 when it was killed, 2 after it was resumed" in text
    assert text.count("killed after entry 1: ") == 1
    assert "Traceback" not in text


@pytest.mark.slow
def test_a_tool_that_keeps_its_promise_passes_in_five_lines(child: Any) -> None:
    result = child(MATRIX.replace('"idempotent"', '"write"'))

    assert result.ret == pytest.ExitCode.OK
    result.assert_outcomes(passed=1)


def test_a_store_that_keeps_every_clause_passes(child: Any) -> None:
    from salvor.testing.store_checks import CHECKS

    result = child(STORE.format(store="MemoryStore"))

    result.assert_outcomes(passed=len(CHECKS))


def test_the_check_of_the_clause_that_a_store_drops_is_the_one_that_fails(child: Any) -> None:
    result = child(STORE.format(store="Forgetful"))
    [failure] = failures(result)

    assert "s14_a_late_result_is_kept" in failure


def test_clauses_can_be_chosen(child: Any) -> None:
    marked = STORE.replace("def test_my", "@pytest.mark.store_clauses('S3', 'S4')\n    def test_my")
    result = child(marked.format(store="Forgetful"), "-v", "--strict-markers")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*s3_an_append*PASSED*", "*s4_rows*PASSED*"])


def test_a_clause_that_is_not_there_is_named(child: Any) -> None:
    marked = STORE.replace("def test_my", "@pytest.mark.store_clauses('S99')\n    def test_my")
    result = child(marked.format(store="MemoryStore"))

    assert result.ret != pytest.ExitCode.OK
    assert "store_clauses takes clauses such as 'S3', got S99." in result.stdout.str()


def test_a_suite_without_a_store_says_what_to_define(child: Any) -> None:
    result = child("def test_it(store_check):\n    store_check()\n")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "define a fixture `salvor_store`" in result.stdout.str()
