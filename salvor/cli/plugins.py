"""`salvor plugins`: which packages of tools are installed, and how they loaded."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.load import installed_tools
from salvor.cli.options import config_asked
from salvor.cli.render_tables import plugins_table
from salvor.config import find_config
from salvor.plugins.loader import Plugins, list_plugins


@click.group()
def plugins() -> None:
    """Packages of tools that are installed beside salvor."""


@plugins.command("list")
@click.option("--no-load", is_flag=True, help="Read their metadata only; import none of them.")
def list_installed(no_load: bool) -> int:
    """Load every plugin and show what came of it."""
    found = _from_metadata() if no_load else installed_tools()[1]
    if found.reports:
        output.show(plugins_table(found))
    else:
        output.say("No plugin is installed.")
    return 0


def _from_metadata() -> Plugins:
    config = find_config(config_asked())
    found = list_plugins(allow=config.allow_plugins, block=config.block_plugins)
    for warning in found.warnings:
        output.complain(f"salvor: {warning}")
    return found
