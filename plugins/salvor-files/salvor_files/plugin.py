"""The plugin: its settings, and the tools that come of them."""

from __future__ import annotations

import os

import salvor
from salvor.errors import PluginError
from salvor.plugins.hooks import Plugin
from salvor_files.confined import Root
from salvor_files.reading import Reading
from salvor_files.settings import Settings
from salvor_files.writing import Writing


@salvor.hookimpl
def salvor_register_tools(plugin: Plugin) -> None:
    """Add the tools, confined to the operator's directory."""
    if os.open not in os.supports_dir_fd:
        raise PluginError("this system cannot open files relative to a directory.")
    settings = plugin.config(Settings)
    root = Root(settings.root)
    plugin.registry.add(Reading(root, settings), prefix=settings.prefix)
    if not settings.read_only:
        plugin.registry.add(Writing(root, settings), prefix=settings.prefix)
