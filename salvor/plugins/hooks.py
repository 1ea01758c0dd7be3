"""What a plugin may implement, and what it is handed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pluggy

from salvor.registry.registry import Registry

GROUP: Final = "salvor"

hookspec: Final = pluggy.HookspecMarker(GROUP)
hookimpl: Final = pluggy.HookimplMarker(GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One plugin, as its own hooks see it.

    Attributes:
        distribution: The installed distribution it comes from.
        entry_point: Its name in the entry-point group ``salvor``.
        registry: Where it adds its tools; they are taken over once all its hooks returned.
    """

    distribution: str
    entry_point: str
    registry: Registry


@hookspec
def salvor_register_tools(plugin: Plugin) -> None:
    """Add tools to ``plugin.registry``."""
