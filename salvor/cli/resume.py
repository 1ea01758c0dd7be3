"""`salvor resume`: go on with a run."""

from __future__ import annotations

import click

from salvor.cli.driving import driven
from salvor.cli.load import importable, workflow_at
from salvor.cli.options import Json, by_option, park_option, run_argument, store_option
from salvor.cli.report import already_over
from salvor.cli.session import existing, with_runtime
from salvor.runtime.parks import MISSING
from salvor.runtime.runtime import Runtime
from salvor.values import JsonValue


@click.command()
@run_argument
@click.argument("target", required=False)
@click.option("--input", "answer", type=Json(), help="The answer to what the run waits for.")
@park_option
@by_option
@click.option(
    "--accept-changes",
    is_flag=True,
    help="Make an open call again although its tool was changed since.",
)
@click.option(
    "--verify", is_flag=True, help="Let the tool of an open write ask whether it happened."
)
@click.option(
    "--worker-dead",
    is_flag=True,
    help="... and nobody is left who could still do it; needed if it did not happen.",
)
@store_option
@click.pass_context
def resume(
    ctx: click.Context,
    run_id: str,
    target: str | None,
    answer: JsonValue,
    park: int | None,
    by: str,
    accept_changes: bool,
    verify: bool,
    worker_dead: bool,
) -> int:
    """Go on with RUN after a crash, or with the answer it waits for.

    The workflow is found where the run says it came from; TARGET names another place.
    """
    importable()
    workflow = workflow_at(target) if target is not None else None
    store = existing(ctx.obj["store"])
    answers = ctx.get_parameter_source("answer") is not click.core.ParameterSource.DEFAULT

    async def work(runtime: Runtime) -> int:
        over = already_over(run_id, await runtime.state(run_id)) if not answers else None
        if over is not None:
            return over
        given = answer if answers else MISSING
        going = runtime.resume(
            run_id,
            workflow,
            answer=given,
            park=park,
            by=by,
            accept_changes=accept_changes,
            verify=verify,
            worker_dead=worker_dead,
        )
        return await driven(runtime, store, run_id, going)

    return with_runtime(store, work, run_id=run_id)
