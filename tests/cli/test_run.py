from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Salvor

RUN_ID = "0a0a0a0a-0000-4000-8000-000000000001"


def test_the_run_id_comes_first_then_the_output(salvor: Salvor, flows: str) -> None:
    ended = salvor("run", f"{flows}:total", "--input", '{"numbers": [1, 2, 3]}')

    assert (ended.code, ended.err) == (0, "")
    assert len(ended.run_id) == 36
    assert json.loads(ended.body) == 6


def test_the_run_id_may_be_chosen_once(salvor: Salvor, flows: str, store: Path) -> None:
    first = salvor("run", f"{flows}:total", "--input", '{"numbers": []}', "--run-id", RUN_ID)
    second = salvor("run", f"{flows}:total", "--input", '{"numbers": []}', "--run-id", RUN_ID)

    assert (first.code, first.run_id) == (0, RUN_ID)
    assert second.code == 1
    assert second.complaint == (
        f"run {RUN_ID} was started before. "
        f"`salvor --store {store} resume {RUN_ID}` goes on with it."
    )


def test_the_input_may_come_from_a_file(salvor: Salvor, flows: str, tmp_path: Path) -> None:
    given = tmp_path / "input.json"
    given.write_text('{"numbers": [20, 22]}')

    assert salvor("run", f"{flows}:total", "--input", f"@{given}").body == "42\n"


def test_a_module_will_do_where_it_holds_one_workflow(
    salvor: Salvor, tmp_path: Path, flows: str
) -> None:
    single = tmp_path / "single.py"
    single.write_text(
        "from salvor import Run, workflow\n\n"
        "@workflow\nasync def only(run: Run) -> str:\n    return 'here'\n"
    )

    assert salvor("run", str(single)).body == '"here"\n'
    several = salvor("run", flows)
    assert several.code == 1
    assert "holds several workflows: ask, die, faulty, lose, slow, total" in several.complaint


def test_a_parked_run_names_the_command_that_goes_on(
    salvor: Salvor, flows: str, store: Path, tmp_path: Path
) -> None:
    given = json.dumps({"order": "A-1", "file": str(tmp_path / "ledger")})
    ended = salvor("run", f"{flows}:ask", "--input", given)

    assert (ended.code, ended.err) == (0, "")
    assert "waits for an answer: Charge A-1?" in ended.out
    assert (
        f"  salvor --store {store} resume {ended.run_id} --input '{{\"approved\": <boolean>}}'\n"
        in ended.out
    )


def test_an_open_write_shows_the_intent_and_what_settles_it(
    salvor: Salvor, flows: str, store: Path
) -> None:
    ended = salvor("run", f"{flows}:lose", "--input", '{"order": "A-1"}')

    assert ended.code == 1
    assert ended.complaint.endswith("whether charge_and_lose happened is unknown.")
    assert '  arguments  {"order":"A-1"}\n' in ended.out
    assert "  cause      the answer for A-1 was lost\n" in ended.out
    for flags in ("--output JSON", "--failed --happened", "--not-done --worker-dead"):
        assert f"  salvor --store {store} resolve {ended.run_id} {flags}\n" in ended.out


def test_a_fault_of_the_workflow_is_placed_and_can_be_mended(salvor: Salvor, flows: str) -> None:
    ended = salvor("run", f"{flows}:faulty")

    assert ended.code == 1
    assert f"a fault in its workflow ({flows}:" in ended.err
    assert "ZeroDivisionError" in ended.err
    assert f"resume {ended.run_id}\n" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["{flows}:total", "--input", "{"], 2, "--input is not JSON: "),
        (["{flows}:total", "--input", "[1]"], 2, "--input has to be a JSON object, got an array"),
        (["{flows}:total", "--input", '{"numbers": NaN}'], 2, "NaN is not a JSON number"),
        (["{flows}:total", "--input", "@nowhere.json"], 2, "'nowhere.json' cannot be read"),
        (["{flows}:total", "--input", '{"numbers": ["x"]}'], 1, "total refused its arguments"),
        (["{flows}:total"], 1, "got nothing. --input takes them as a JSON object, or as @FILE"),
        (["{flows}:total", "--run-id", "7"], 2, "a run id has to be a UUID, got '7'"),
        (["{flows}:nothing"], 1, "has no 'nothing'"),
        (["{flows}:add"], 1, "is not a workflow"),
        (["nowhere.py:flow"], 1, "there is no file"),
        (["no_such_module:flow"], 1, "there is no module 'no_such_module'"),
        (["."], 1, "has to be MODULE:NAME or file.py:NAME, got '.'. For example"),
        ([""], 1, "has to be MODULE:NAME or file.py:NAME, got ''. For example"),
        (["{flows}:total:more"], 1, "a target has to be MODULE:NAME or file.py:NAME"),
        (["tests.cli.failing_import:flow"], 1, "importing tests.cli.failing_import failed at "),
        ([], 2, "Missing argument 'TARGET'"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(
    salvor: Salvor, flows: str, words: list[str], code: int, complaint: str
) -> None:
    ended = salvor("run", *(word.replace("{flows}", flows) for word in words))

    assert (ended.code, ended.out) == (code, "")
    assert complaint in ended.complaint
