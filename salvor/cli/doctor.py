"""`salvor doctor`: what is wrong with this installation, in one table."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.options import store_option
from salvor.cli.render_tables import findings_table
from salvor.errors import PluginError
from salvor.plugins.discovery import copies, installed
from salvor.plugins.inspection import (
    Finding,
    about_distributions,
    about_plugins,
    about_salvor,
    about_store,
)
from salvor.plugins.loader import load_plugins
from salvor.registry.registry import Registry

BROKEN = 1


@click.command()
@store_option
@click.pass_obj
def doctor(obj: dict[str, str]) -> int:
    """Look for what is wrong with this installation.

    Other distributions on salvor's package, requirements that are not met, plugins that are
    broken, blocked, shadowed or slow, and whether the store can be written. The exit code is
    1 when something is an error. Plugins are imported; nothing is changed.
    """
    there = copies()
    findings = [
        *about_salvor(there),
        *about_distributions(there, installed()),
        *_plugins(),
        about_store(obj["store"]),
    ]
    output.show(findings_table(findings))
    return BROKEN if any(finding.level == "error" for finding in findings) else 0


def _plugins() -> list[Finding]:
    try:
        # Never strict: the point is to see all that is broken.
        return about_plugins(load_plugins(Registry(), strict=False))
    except PluginError as error:
        return [Finding(level="error", subject="plugins", message=str(error))]
