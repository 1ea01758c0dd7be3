"""Sessions under the verbs of an operator: they are looked at, answered and ended like any run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.registry.registry import Registry
from salvor.run_errors import SessionStopped
from tests.cli import session_tools
from tests.cli.command import Salvor


class Loop:
    """A loop of somebody's own: each call opens the session `order-7`, and leaves it."""

    def __init__(self, store: Path) -> None:
        self._store = str(store)

    def __call__(self, name: str) -> Any:
        return anyio.run(self._call, name)

    async def _call(self, name: str) -> Any:
        registry = Registry()
        registry.add(session_tools)
        opened = open_runtime(self._store, plugins=False, registry=registry)
        async with opened as runtime, runtime.session("order-7") as session:
            try:
                return await session.call_named(name, {}, call_id=name)
            except SessionStopped as stopped:
                return stopped.result


@pytest.fixture
def loop(store: Path) -> Loop:
    return Loop(store)


def only_run(salvor: Salvor) -> str:
    return salvor("list").out.splitlines()[1].split()[0]


def test_c7_an_idle_session_is_listed_by_its_name_and_left_to_its_loop(
    salvor: Salvor, loop: Loop
) -> None:
    loop("look")
    (line,) = salvor("list").out.splitlines()[1:]
    run_id = line.split()[0]

    assert line.rstrip().endswith("session order-7  its own loop goes on with it")
    assert salvor("history", run_id).out.splitlines()[0].endswith('{"session":"order-7"}')
    for verb in ("resume", "wake"):
        ended = salvor(verb, run_id)
        assert (ended.code, ended.err) == (0, "")
        assert "its own loop goes on with it" in " ".join(ended.out.split())
    assert salvor("wake").out == "No run is due.\n"


def test_c7_no_workflow_drives_a_session(salvor: Salvor, loop: Loop, flows: str) -> None:
    loop("look")
    ended = salvor("resume", only_run(salvor), f"{flows}:total")

    assert ended.code == 1
    assert "is a session, which no workflow drives" in ended.complaint


def test_d2_a_call_of_a_session_is_approved(salvor: Salvor, loop: Loop) -> None:
    run_id = loop("launch").run_id

    assert "launch" in salvor("approvals", "list").out
    assert salvor("approvals", "approve", run_id, "--park", "1").code == 0
    assert salvor("wake", run_id).code == 0
    assert loop("launch") == "up"


def test_d1_an_answer_and_a_signal_reach_a_session(salvor: Salvor, loop: Loop) -> None:
    run_id = loop("choose").run_id
    refused = salvor("resume", run_id, "--input", "5")
    answered = salvor("resume", run_id, "--input", '"2A"')

    assert refused.code == 1
    assert answered.code == 0
    assert loop("choose") == "2A"
    assert loop("bank").signal == "bank"
    assert salvor("signal", run_id, "bank", "--payload", '"paid"').code == 0
    assert run_id in salvor("wake").out
    assert salvor("wake").out == "No run is due.\n"
    assert loop("bank") == "paid"


def test_f1_an_open_write_of_a_session_is_resolved(
    salvor: Salvor, loop: Loop, tmp_path: Path
) -> None:
    config = tmp_path / "salvor.toml"
    config.write_text('[tools]\nmodules = ["tests.cli.session_tools"]\n')
    run_id = loop("lose").run_id
    resumed = salvor("resume", run_id)

    assert resumed.code == 1
    assert "whether lose happened is unknown" in resumed.err
    assert "cannot be cancelled" in salvor("cancel", run_id).complaint
    nowhere = salvor("resolve", run_id, "--output", '"done"')
    assert "`[tools] modules` names them" in nowhere.complaint
    done = salvor("--config", str(config), "resolve", run_id, "--output", '"done"')
    assert (done.code, done.err) == (0, "")
    assert loop("lose") == "done"


@pytest.mark.parametrize("name", ["look", "choose", "nap", "launch"])
@pytest.mark.parametrize("verb", ["cancel", "abandon"])
def test_d5_a_session_is_ended(salvor: Salvor, loop: Loop, verb: str, name: str) -> None:
    loop(name)
    run_id = only_run(salvor)
    ended = salvor(verb, run_id, "--reason", "enough")

    assert (ended.code, ended.err) == (0, "")
    assert " abandoned " in salvor("list").out
    assert salvor("wake", run_id).code == 1
    assert salvor("resume", run_id).code == 1
