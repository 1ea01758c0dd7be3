"""`salvor verify` and `salvor anchor`: whether a store is what was written."""

from __future__ import annotations

import json
from pathlib import Path

import click

from salvor.cli import output, render
from salvor.cli.options import JsonObjectType, store_option
from salvor.cli.session import looking
from salvor.runtime.runtime import Runtime
from salvor.values import JsonObject


@click.command()
@click.option(
    "--against",
    type=JsonObjectType(),
    metavar="@FILE",
    help="An anchor that was made before, as @FILE.",
)
@store_option
@click.pass_obj
def verify(obj: dict[str, str], against: JsonObject | None) -> int:
    """Check every log, every claim and the claim log of the store."""

    async def work(runtime: Runtime) -> int:
        found = await runtime.upkeep.verify(against)
        for fault in found.faults:
            output.complain(
                render.sentence(f"salvor: {fault.subject}: {render.printable(fault.detail)}")
            )
        output.say(
            f"{found.runs} runs, {found.events} events, {found.claims} claims: "
            + (f"{len(found.faults)} faults" if found.faults else "all as written")
        )
        return int(bool(found.faults))

    return looking(obj["store"], work)


@click.command()
@click.option(
    "--output", "target", type=click.Path(path_type=Path), help="The file; else standard output."
)
@store_option
@click.pass_obj
def anchor(obj: dict[str, str], target: Path | None) -> int:
    """Print the lengths and last hashes of all logs, to be kept elsewhere.

    A log's own chain shows changes by whoever does not know it; an anchor shows all others.
    """

    async def work(runtime: Runtime) -> int:
        text = json.dumps(await runtime.upkeep.anchor(), indent=1)
        if target is None:
            output.say(text)
        else:
            output.write(target, f"{text}\n")
        return 0

    return looking(obj["store"], work)
