"""`salvor answer`: record the answer a run waits for."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.load import importable, workflow_at
from salvor.cli.options import Json, by_option, park_option, run_argument, store_option
from salvor.cli.render import command
from salvor.cli.session import existing, with_runtime
from salvor.runtime.runtime import Runtime
from salvor.values import JsonValue


@click.command()
@run_argument
@click.argument("target", required=False)
@click.option("--input", "answer", type=Json(), required=True, help="The answer.")
@park_option
@by_option
@store_option
@click.pass_obj
def answer(
    obj: dict[str, str],
    run_id: str,
    target: str | None,
    answer: JsonValue,
    park: int | None,
    by: str,
) -> int:
    """Record the answer that RUN waits for, and leave it for `wake` or `resume`.

    The answer is checked before anything is recorded. TARGET names its workflow, where the
    run does not say where it is.
    """
    importable()
    workflow = workflow_at(target) if target is not None else None
    store = existing(obj["store"])

    async def work(runtime: Runtime) -> int:
        await runtime.answer(run_id, answer, park=park, by=by, workflow=workflow)
        output.say(f"The answer is recorded. Go on with:\n  {command('wake', run_id, store=store)}")
        return 0

    return with_runtime(store, work)
