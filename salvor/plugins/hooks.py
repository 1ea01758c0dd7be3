"""What a plugin may implement, and what it is handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

import pluggy
from pydantic import BaseModel

from salvor.errors import PluginError
from salvor.plugins.settings import read_settings
from salvor.registry.registry import Registry
from salvor.tools.around import Middleware
from salvor.tools.foreign import Verdict

GROUP: Final = "salvor"

hookspec: Final = pluggy.HookspecMarker(GROUP)
hookimpl: Final = pluggy.HookimplMarker(GROUP)

S = TypeVar("S", bound=BaseModel)
Lifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One plugin, as its own hooks see it.

    Attributes:
        distribution: The installed distribution it comes from.
        entry_point: Its name in the entry-point group ``salvor``.
        registry: Where it adds its tools; they are taken over once all its hooks returned.
        lifespans: What it asked for with `lifespan`.
    """

    distribution: str
    entry_point: str
    registry: Registry
    lifespans: list[Lifespan] = field(default_factory=list, repr=False)
    _table: Mapping[str, Any] = field(default_factory=dict, repr=False)
    _environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def config(self, model: type[S]) -> S:
        """The operator's settings for this plugin.

        They come from the table ``[plugins.<distribution>]``; a variable
        ``SALVOR_PLUGIN_<DISTRIBUTION>_<FIELD>`` of the environment wins over it.

        Args:
            model: A pydantic model of the settings.

        Raises:
            PluginError: they do not fit the model; names every fault, and no value.
        """
        return read_settings(
            model, table=self._table, environ=self._environ, distribution=self.distribution
        )

    def lifespan(self, manager: Lifespan) -> None:
        """Hold something open for as long as a runtime is.

        Args:
            manager: Called without arguments, gives an async context manager. It is entered
                before the first call and left after the last one.

        Raises:
            PluginError: it cannot be called.
        """
        if not callable(manager):
            raise PluginError(
                f"lifespan takes a function that makes an async context manager, "
                f"got a {type(manager).__name__}.",
                hint="Decorate an async generator with @asynccontextmanager and pass it uncalled.",
            )
        self.lifespans.append(manager)


@hookspec
def salvor_register_tools(plugin: Plugin) -> None:
    """Add tools to ``plugin.registry``."""


@hookspec
def salvor_exceptions(plugin: Plugin) -> Mapping[str, Verdict] | None:
    """Say what exceptions of a library mean for the call that raised them.

    By name, ``package.Class`` with the top-level package; subclasses count too. Nothing of
    the library is imported for it. Collected once, when the plugin is loaded.
    """
    return None


@hookspec
def salvor_middleware(plugin: Plugin) -> Middleware | None:
    """Give an ``async (call, next) -> Outcome`` that stands around every call.

    It runs once for each execution, after validation and the intent, before the body, and
    goes on with ``await next()``, at most once. Whatever it raises before that denies the
    call. Collected once, when the plugin is loaded.
    """
    return None
