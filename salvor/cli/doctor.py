"""`salvor doctor`: what is wrong with this installation, in one table."""

from __future__ import annotations

import click

from salvor.cli import output
from salvor.cli.load import importable, imports_aside
from salvor.cli.options import config_asked, store_option
from salvor.cli.render_tables import findings_table
from salvor.compose import furnish
from salvor.config import Config, find_config
from salvor.errors import ConfigError, PluginError, SalvorError
from salvor.plugins.discovery import copies, installed
from salvor.plugins.inspection import (
    Finding,
    about_distributions,
    about_plugins,
    about_salvor,
    about_store,
)
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.registry import Registry

BROKEN = 1


@click.command()
@store_option
@click.pass_obj
def doctor(obj: dict[str, str]) -> int:
    """Look for what is wrong with this installation.

    Other distributions on salvor's package, requirements that are not met, plugins that are
    broken, blocked, shadowed or slow, an operator's file that cannot be used, and whether the
    store can be written. The exit code is 1 when something is an error. Plugins are imported;
    nothing is changed.
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
    registry = Registry()
    findings: list[Finding] = []
    try:
        config = find_config(config_asked())
    except ConfigError as error:
        config = Config()
        findings.append(Finding(level="error", subject="configuration", message=str(error)))
    try:
        # Never strict: the point is to see all that is broken.
        with imports_aside():
            plugins = load_plugins(
                registry,
                strict=False,
                allow=config.allow_plugins,
                block=config.block_plugins,
                tables=config.plugins,
            )
    except PluginError as error:
        return [*findings, Finding(level="error", subject="plugins", message=str(error))]
    return [*findings, *about_plugins(plugins), *_operator(registry, config, plugins)]


def _operator(registry: Registry, config: Config, plugins: Plugins) -> list[Finding]:
    """What the operator's file says of tools that are not there, or cannot be meant of them."""
    try:
        importable()
        furnish(registry, config, plugins=plugins)
    except SalvorError as error:
        return [Finding(level="error", subject="configuration", message=str(error))]
    return []
