"""`salvor history`: what happened in a run."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.options import run_argument, store_option
from salvor.cli.render_history import entry_line, late_lines
from salvor.cli.session import looking
from salvor.runtime.runtime import Runtime


@click.command()
@run_argument
@click.option("--json", "as_json", is_flag=True, help="The stored events, one JSON text a line.")
@store_option
@click.pass_obj
def history(obj: dict[str, str], run_id: str, as_json: bool) -> int:
    """Print the events of RUN, checked against their hash chain."""

    async def work(runtime: Runtime) -> int:
        found = await runtime.history(run_id)
        lines = (
            found.texts if as_json else [*map(entry_line, found.entries), *late_lines(found.late)]
        )
        for line in lines:
            output.say(line)
        return 0

    return looking(obj["store"], work)
