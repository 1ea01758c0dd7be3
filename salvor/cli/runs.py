"""`salvor list`: the runs of a store."""

from __future__ import annotations

from collections import deque
from typing import get_args

import click

from salvor.cli import output
from salvor.cli.options import store_option
from salvor.cli.render_tables import runs_table
from salvor.cli.session import looking
from salvor.events.fold import Status
from salvor.runtime.operator import RunSummary
from salvor.runtime.runtime import Runtime

PAGE = 200


@click.command("list")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([*get_args(Status), "unreadable", "unsupported"]),
    help="Only runs of this status; may be given several times.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="At most this many, the newest.",
)
@store_option
@click.pass_obj
def list_runs(obj: dict[str, str], statuses: tuple[str, ...], limit: int) -> int:
    """List runs, the newest last."""

    async def work(runtime: Runtime) -> int:
        found = await _newest(runtime, statuses, limit)
        if found:
            output.show(runs_table(found))
        elif statuses:
            output.say(f"No run in this store is {' or '.join(statuses)}.")
        else:
            output.say("There are no runs in this store yet.")
        return 0

    return looking(obj["store"], work)


async def _newest(runtime: Runtime, statuses: tuple[str, ...], limit: int) -> list[RunSummary]:
    newest: deque[RunSummary] = deque(maxlen=limit)
    after: str | None = None
    while page := await runtime.list(limit=PAGE, after=after):
        newest.extend(run for run in page if not statuses or run.status in statuses)
        after = page[-1].run_id
        if len(page) < PAGE:
            break
    return list(newest)
