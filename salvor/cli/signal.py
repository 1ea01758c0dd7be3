"""`salvor signal`: put a signal into a run's inbox."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.options import Json, Words, by_option, run_argument, store_option
from salvor.cli.render import command
from salvor.cli.session import existing, looking
from salvor.runtime.runtime import Runtime
from salvor.values import JsonValue


@click.command()
@run_argument
@click.argument("name", type=Words(), metavar="NAME")
@click.option("--payload", type=Json(), help="What it carries; null by default.")
@click.option("--id", "sender_id", metavar="TEXT", help="Your id for it: the same is sent once.")
@by_option
@store_option
@click.pass_obj
def signal(
    obj: dict[str, str], run_id: str, name: str, payload: JsonValue, sender_id: str | None, by: str
) -> int:
    """Send RUN the signal NAME. It is kept until the run waits for it."""
    store = existing(obj["store"])

    async def work(runtime: Runtime) -> int:
        number = await runtime.signal(run_id, name, payload, sender_id=sender_id, by=by)
        output.say(
            f"Signal {number} of the run is sent. If it waits for it, it goes on with:\n"
            f"  {command('wake', run_id, store=store)}"
        )
        return 0

    return looking(store, work)
