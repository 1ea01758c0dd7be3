"""`salvor resolve`: say what an open write did."""

from __future__ import annotations

from typing import Literal

import click

from salvor.cli import output
from salvor.cli.load import importable
from salvor.cli.options import Json, by_option, run_argument, store_option
from salvor.cli.render import resolved
from salvor.cli.render_history import late_lines
from salvor.cli.session import existing, with_runtime
from salvor.runtime.resolve import NotDone, Resolution, ResolvedFailure, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.values import JsonValue

ExtentFlag = Literal["yes", "no", "unknown"]


@click.command()
@run_argument
@click.option("--output", "result", type=Json(), help="It happened, and this is its result.")
@click.option("--failed", is_flag=True, help="It failed; say also what it did all the same:")
@click.option("--happened", "extent", flag_value="yes", help="... it happened.")
@click.option("--not-happened", "extent", flag_value="no", help="... nothing happened.")
@click.option("--unknown", "extent", flag_value="unknown", help="... nobody knows.")
@click.option("--message", help="Why it failed, for the workflow and the log.")
@click.option("--not-done", is_flag=True, help="It never happened: the call is made again.")
@click.option(
    "--worker-dead",
    is_flag=True,
    help="... and nobody is left who could still do it; needed until its time limit has passed.",
)
@by_option
@store_option
@click.pass_context
def resolve(
    ctx: click.Context,
    run_id: str,
    result: JsonValue,
    failed: bool,
    extent: ExtentFlag | None,
    message: str | None,
    not_done: bool,
    worker_dead: bool,
    by: str,
) -> int:
    """Say what became of the write that RUN stopped at.

    Exactly one of --output, --failed and --not-done. Ask the outside world first: salvor
    takes your word for it.
    """
    happened = ctx.get_parameter_source("result") is not click.core.ParameterSource.DEFAULT
    _check(happened, failed, extent, message, not_done, worker_dead)
    resolution: Resolution
    if happened:
        resolution = ResolvedOutput(result)
    elif not_done:
        resolution = NotDone(worker_dead=worker_dead)
    else:
        assert extent is not None
        resolution = (
            ResolvedFailure(extent) if message is None else ResolvedFailure(extent, message)
        )
    importable()
    store = existing(ctx.obj["store"])

    async def work(runtime: Runtime) -> int:
        for line in late_lines((await runtime.history(run_id)).late):
            output.say(line)
        await runtime.resolve(run_id, resolution, by=by)
        output.say(resolved(run_id, resolution, store))
        return 0

    return with_runtime(store, work)


def _check(
    happened: bool,
    failed: bool,
    extent: str | None,
    message: str | None,
    not_done: bool,
    worker_dead: bool,
) -> None:
    if happened + failed + not_done != 1:
        raise click.UsageError("say exactly one of --output, --failed and --not-done.")
    if failed != (extent is not None):
        raise click.UsageError(
            "--failed needs one of --happened, --not-happened and --unknown, "
            "and they belong to --failed alone."
        )
    if message is not None and not failed:
        raise click.UsageError("--message belongs to --failed.")
    if worker_dead and not not_done:
        raise click.UsageError("--worker-dead belongs to --not-done.")
