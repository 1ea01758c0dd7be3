"""`salvor abandon`: end a run for good."""

from __future__ import annotations

from typing import Literal

import click

from salvor.cli import output
from salvor.cli.load import importable
from salvor.cli.options import by_option, run_argument, store_option
from salvor.cli.session import existing, with_runtime
from salvor.runtime.runtime import Runtime


@click.command()
@run_argument
@click.option("--reason", metavar="TEXT", help="Why.")
@click.option("--happened", "extent", flag_value="yes", help="Its open call happened.")
@click.option("--not-happened", "extent", flag_value="no", help="Its open call did not happen.")
@click.option("--unknown", "extent", flag_value="unknown", help="Nobody knows what it did.")
@click.option(
    "--worker-dead",
    is_flag=True,
    help="Nobody is left who could still do it; needed with --not-happened.",
)
@click.option("--force", is_flag=True, help="End it although a process drives it.")
@by_option
@store_option
@click.pass_obj
def abandon(
    obj: dict[str, str],
    run_id: str,
    reason: str | None,
    extent: Literal["yes", "no", "unknown"] | None,
    worker_dead: bool,
    force: bool,
    by: str,
) -> int:
    """End RUN for good. What its open call did has to be said where it holds a key."""
    importable()

    async def work(runtime: Runtime) -> int:
        await runtime.abandon(
            run_id, reason=reason, by=by, happened=extent, worker_dead=worker_dead, force=force
        )
        output.say(f"run {run_id} is abandoned.")
        return 0

    return with_runtime(existing(obj["store"]), work)
