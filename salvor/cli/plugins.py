"""`salvor plugins`: which packages of tools are installed, and how they loaded."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.load import installed_tools
from salvor.cli.render_tables import plugins_table


@click.group()
def plugins() -> None:
    """Packages of tools that are installed beside salvor."""


@plugins.command("list")
def list_plugins() -> int:
    """Load every plugin and show what came of it."""
    _, reports = installed_tools()
    if not reports:
        output.say("No plugin is installed.")
        return 0
    output.show(plugins_table(reports))
    for report in reports:
        if report.error is not None:
            output.complain(f"salvor: {report.distribution} ({report.entry_point}): {report.error}")
    return 0
