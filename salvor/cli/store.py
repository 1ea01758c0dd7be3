"""`salvor store`: backups, restores, copies of runs, retention."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import click

from salvor.cli import output
from salvor.cli.options import Days, run_argument, store_option
from salvor.cli.session import existing, looking, no_plugins, with_runtime
from salvor.run_errors import CopyRefused
from salvor.runtime.runtime import Runtime
from salvor.stores.restoring import restored

FILE = click.Path(dir_okay=False, path_type=Path)
PREFIX = "sqlite:///"


@click.group()
def store() -> None:
    """Look after a whole store."""


@store.command()
@click.argument("path", type=FILE)
@store_option
@click.pass_obj
def backup(obj: dict[str, str], path: Path) -> int:
    """Write a whole copy of the store to PATH, while it is in use."""

    async def work(runtime: Runtime) -> int:
        await runtime.store.backup(str(path))
        output.say(f"The store is copied to {path}.")
        return 0

    return looking(obj["store"], work)


@store.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@store_option
@click.pass_obj
def restore(obj: dict[str, str], path: Path) -> int:
    """Make a store, where there is none, out of the backup at PATH.

    Calls with keys are refused there until `salvor store confirm`.
    """
    target = obj["store"].removeprefix(PREFIX)
    found = anyio.run(restored, str(path), target)
    output.say(
        f"{target} is restored, in its incarnation {found.number}. Look what happened since the "
        "backup was made, then say:\n  salvor --store " + target + " store confirm"
    )
    return 0


@store.command()
@store_option
@click.pass_obj
def confirm(obj: dict[str, str]) -> int:
    """Say that what happened since the backup was looked at: calls with keys go on."""

    async def work(runtime: Runtime) -> int:
        found = await runtime.store.confirm_incarnation()
        output.say(f"Incarnation {found.number} is confirmed.")
        return 0

    return looking(obj["store"], work)


@store.command()
@run_argument
@click.option("--output", "target", type=FILE, help="The file; else standard output.")
@store_option
@click.pass_obj
def export(obj: dict[str, str], run_id: str, target: Path | None) -> int:
    """Print RUN with all that belongs to it, one JSON text a line."""

    async def work(runtime: Runtime) -> int:
        lines = await runtime.upkeep.export(run_id)
        if target is None:
            for line in lines:
                output.say(line)
        else:
            output.write(target, "".join(f"{line}\n" for line in lines))
        return 0

    return looking(obj["store"], work)


@store.command("import")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@store_option
@click.pass_obj
def import_run(obj: dict[str, str], path: Path) -> int:
    """Take in the run that `export` wrote to PATH; all of it or nothing."""

    async def work(runtime: Runtime) -> int:
        output.say(f"run {await runtime.upkeep.adopt(_lines(path))} is here now.")
        return 0

    return with_runtime(obj["store"], work, loaded=no_plugins(), drives=False)


def _lines(path: Path) -> Iterable[str]:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise CopyRefused(f"they are not UTF-8 ({error.reason} at byte {error.start})") from None
    # Not by splitlines: texts in it may hold other ends of lines.
    return text.removesuffix("\n").split("\n")


@store.command()
@click.option(
    "--older-than",
    "days",
    type=Days(),
    required=True,
    help="Runs that ended at least so many days ago.",
)
@store_option
@click.pass_obj
def forget(obj: dict[str, str], days: float) -> int:
    """Let go of runs that ended long ago. Committed keys keep their outputs; names are free."""
    place = existing(obj["store"])

    async def work(runtime: Runtime) -> int:
        before = datetime.now(UTC) - timedelta(days=days)
        gone = await runtime.upkeep.forget(ended_before=before)
        output.say(f"{len(gone)} runs are gone.")
        return 0

    return looking(place, work)
