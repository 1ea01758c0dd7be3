"""`salvor cancel`: ask for a run's end."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.options import by_option, run_argument, store_option
from salvor.cli.session import looking
from salvor.runtime.runtime import Runtime


@click.command()
@run_argument
@click.option("--reason", metavar="TEXT", help="Why.")
@by_option
@store_option
@click.pass_obj
def cancel(obj: dict[str, str], run_id: str, reason: str | None, by: str) -> int:
    """Ask for the end of RUN: at its next intent or park, never inside a write."""

    async def work(runtime: Runtime) -> int:
        state = await runtime.cancel(run_id, reason=reason, by=by)
        output.say(
            f"run {run_id} is abandoned."
            if state.ended
            else f"run {run_id} will end before its next call or at its next park."
        )
        return 0

    return looking(obj["store"], work)
