"""`salvor approvals`: calls that wait for a yes or a no."""

from __future__ import annotations

import click

from salvor.cli import output, render
from salvor.cli.options import by_option, park_option, run_argument, store_option
from salvor.cli.render_tables import table
from salvor.cli.session import existing, looking
from salvor.run_errors import WrongState
from salvor.runtime.runtime import Runtime
from salvor.store_errors import LogError
from salvor.values import canonical_json

PAGE = 200


@click.group()
def approvals() -> None:
    """See the calls that wait for approval, and say yes or no."""


@approvals.command("list")
@store_option
@click.pass_obj
def list_approvals(obj: dict[str, str]) -> int:
    """List the calls that wait for approval, the oldest first."""

    async def work(runtime: Runtime) -> int:
        made = table("RUN ID", "PARK", "TOOL", "EFFECT", "UNTIL", "ARGUMENTS")
        found = False
        for run_id in await _suspended(runtime):
            try:
                park = (await runtime.state(run_id)).park
            except LogError:
                continue
            if park is None or not park.wants_approval or park.call is None:
                continue
            found = True
            until = render.when(park.deadline) if park.deadline else "-"
            arguments = render.printable(canonical_json(park.call.input))
            made.add_row(run_id, str(park.seq), park.call.tool, park.call.effect, until, arguments)
        if found:
            output.show(made)
        else:
            output.say("No call waits for approval.")
        return 0

    return looking(obj["store"], work)


async def _suspended(runtime: Runtime) -> list[str]:
    found: list[str] = []
    after: str | None = None
    while page := await runtime.list(limit=PAGE, after=after):
        found += [run.run_id for run in page if run.status == "suspended"]
        after = page[-1].run_id
        if len(page) < PAGE:
            break
    return found


@approvals.command()
@run_argument
@store_option
@click.pass_obj
def show(obj: dict[str, str], run_id: str) -> int:
    """Show the call that RUN asks approval for."""
    store = existing(obj["store"])

    async def work(runtime: Runtime) -> int:
        parked = await runtime.parked(run_id)
        if parked is None or not parked.wants_approval:
            raise WrongState(f"run {run_id} asks for no approval.")
        output.say(render.parked(parked, store))
        return 0

    return looking(store, work)


def _answer(
    obj: dict[str, str], run_id: str, yes: bool, park: int | None, by: str, note: str | None
) -> int:
    store = existing(obj["store"])

    async def work(runtime: Runtime) -> int:
        await runtime.approve(run_id, yes, park=park, by=by, note=note)
        said = "approved" if yes else "denied"
        wake = render.command("wake", run_id, store=store)
        output.say(f"The call is {said}. Go on with:\n  {wake}")
        return 0

    return looking(store, work)


note_option = click.option("--note", metavar="TEXT", help="Why; the caller is told after a no.")


@approvals.command()
@run_argument
@park_option
@by_option
@note_option
@store_option
@click.pass_obj
def approve(obj: dict[str, str], run_id: str, park: int | None, by: str, note: str | None) -> int:
    """Let RUN make exactly the call that it asks about, once."""
    return _answer(obj, run_id, True, park, by, note)


@approvals.command()
@run_argument
@park_option
@by_option
@note_option
@store_option
@click.pass_obj
def deny(obj: dict[str, str], run_id: str, park: int | None, by: str, note: str | None) -> int:
    """Refuse the call that RUN asks about."""
    return _answer(obj, run_id, False, park, by, note)
