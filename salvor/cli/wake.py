"""`salvor wake`: let runs go on whose time or signal has come."""

from __future__ import annotations

import click

from salvor.cli import output, render
from salvor.cli.driving import driven
from salvor.cli.load import importable, workflow_at
from salvor.cli.options import RunId, store_option
from salvor.cli.report import already_over
from salvor.cli.session import INTERRUPTED, existing, with_runtime
from salvor.errors import SalvorError
from salvor.runtime.outcome import Failed, OpenWrite
from salvor.runtime.runtime import Runtime


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RunId())
@click.argument("target", required=False)
@store_option
@click.pass_obj
def wake(obj: dict[str, str], run_id: str | None, target: str | None) -> int:
    """Let RUN go on if its time, its signal or its answer has come; without RUN, all that are due.

    A run that got nowhere five times is left alone: `resume` tries again.
    """
    importable()
    store = existing(obj["store"])
    if run_id is None:
        return with_runtime(store, _all)
    one = run_id
    workflow = workflow_at(target) if target is not None else None

    async def work(runtime: Runtime) -> int:
        over = already_over(one, await runtime.state(one))
        if over is not None:
            return over
        return await driven(runtime, store, one, runtime.wake(one, workflow))

    return with_runtime(store, work, run_id=one)


async def _all(runtime: Runtime) -> int:
    woken = await runtime.wake_due()
    if not woken and not runtime.interrupted:
        output.say("No run is due.")
    failed = False
    for run_id, result in woken.items():
        if isinstance(result, SalvorError):
            output.complain(render.sentence(f"salvor: run {run_id}: {result}"))
        else:
            status = (await runtime.state(run_id)).status
            output.say(f"{run_id}  {status}")
        failed = failed or isinstance(result, SalvorError | Failed | OpenWrite)
    if runtime.interrupted:
        output.complain("salvor: interrupted. `salvor wake` goes on with the runs that are due.")
        return INTERRUPTED
    return int(failed)
