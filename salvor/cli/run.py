"""`salvor run`: start a run and drive it until it rests."""

from __future__ import annotations

from typing import Any

import click

from salvor.cli import output
from salvor.cli.driving import drive
from salvor.cli.load import workflow_at
from salvor.cli.options import JsonObjectType, RunId, refused_with_next_step, store_option
from salvor.clock import SystemIds
from salvor.runtime.outcome import RunResult
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import define
from salvor.values import JsonObject


@click.command()
@click.argument("target")
@click.option("--input", "given", type=JsonObjectType(), help="The workflow's parameters.")
@click.option("--run-id", type=RunId(), help="The run's id; by default a fresh one.")
@store_option
@click.pass_obj
def run(obj: dict[str, str], target: str, given: JsonObject | None, run_id: str | None) -> int:
    """Start a run of TARGET: MODULE:NAME or file.py:NAME.

    MODULE alone will do if it holds one workflow. The run's id is printed first, then its
    output, or what it waits for and the command that goes on.
    """
    workflow = workflow_at(target)
    with refused_with_next_step():
        define(workflow).prepare(given or {})  # refused before an id is printed
    chosen = run_id or SystemIds().run_id()

    async def begin(runtime: Runtime) -> RunResult[Any]:
        output.say(f"run {chosen}")
        return await runtime.start(workflow, given, run_id=chosen)

    return drive(obj["store"], chosen, begin)
