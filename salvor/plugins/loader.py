"""Finding and loading plugins: in a fixed order, each on its own, all of its tools or none."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from typing import Any, Literal, Protocol

import pluggy

from salvor.errors import PluginError, SalvorError
from salvor.plugins import hooks
from salvor.plugins.hooks import GROUP, Plugin
from salvor.registry.registry import Registry


class EntryPointLike(Protocol):
    """What the loader needs of `importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def dist(self) -> Any: ...
    def load(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginReport:
    """How one plugin loaded.

    Attributes:
        distribution: The normalised name of the distribution it comes from.
        version: That distribution's version.
        entry_point: Its name in the group.
        value: What the entry point names.
        status: Whether it is in.
        error: What went wrong, as one sentence.
        tools: The names of its tools.
        seconds: How long importing and registering took.
    """

    distribution: str
    version: str
    entry_point: str
    value: str
    status: Literal["loaded", "failed"]
    error: str | None
    tools: tuple[str, ...]
    seconds: float


def load_plugins(
    registry: Registry,
    *,
    strict: bool = False,
    entry_points: Iterable[EntryPointLike] | None = None,
) -> tuple[PluginReport, ...]:
    """Load every plugin and add its tools.

    A plugin that fails leaves nothing behind and stops no other one.

    Args:
        registry: Where the tools go.
        strict: Raise for the first plugin that fails.
        entry_points: The plugins; by default all that are installed.

    Raises:
        PluginError: ``strict`` is set and a plugin failed.
    """
    found = installed() if entry_points is None else entry_points
    return tuple(_load(registry, entry, strict) for entry in sorted(found, key=_order))


def installed(path: Sequence[str] | None = None) -> tuple[EntryPointLike, ...]:
    """The entry points of the group ``salvor``, of each distribution's first copy.

    Args:
        path: The directories to look in; by default those that imports look in.
    """
    found = distributions() if path is None else distributions(path=list(path))
    seen: set[str] = set()
    entries: list[EntryPointLike] = []
    for distribution in found:
        name = _name_of(distribution)
        if name not in seen:
            seen.add(name)
            entries.extend(distribution.entry_points.select(group=GROUP))
    return tuple(entries)


def _name_of(distribution: Any) -> str:
    name = getattr(distribution, "name", None) or "unknown"
    return re.sub(r"[-_.]+", "-", str(name)).lower()


def _version_of(distribution: Distribution | None) -> str:
    return getattr(distribution, "version", None) or "unknown"


def _order(entry: EntryPointLike) -> tuple[str, str, str]:
    return _name_of(entry.dist), entry.name, entry.value


def _load(registry: Registry, entry: EntryPointLike, strict: bool) -> PluginReport:
    started = time.perf_counter()
    error: str | None = None
    tools: tuple[str, ...] = ()
    try:
        staging = Registry()
        _call_hooks(entry, staging)
        tools = tuple(tool.name for tool in registry.merge(staging.tools()))
    except (Exception, SystemExit) as raised:
        error = _sentence(raised)
        if strict:
            name = f"{_name_of(entry.dist)} ({entry.name})"
            raise PluginError(
                f"the plugin {name} failed: {error}", hint="Fix it, or uninstall it."
            ) from raised
    return PluginReport(
        distribution=_name_of(entry.dist),
        version=_version_of(entry.dist),
        entry_point=entry.name,
        value=entry.value,
        status="failed" if error else "loaded",
        error=error,
        tools=tools,
        seconds=time.perf_counter() - started,
    )


def _call_hooks(entry: EntryPointLike, staging: Registry) -> None:
    # A manager of its own: no plugin can shadow, break or half-register another one.
    manager = pluggy.PluginManager(GROUP)
    manager.add_hookspecs(hooks)
    loaded = entry.load()
    manager.register(loaded, name=f"{_name_of(entry.dist)}:{entry.name}")
    if not manager.get_hookcallers(loaded):
        raise PluginError(
            f"{entry.value} implements no hook of salvor.",
            hint="Mark a function salvor_register_tools(plugin) with @salvor.hookimpl.",
        )
    _check_names(manager, entry)
    plugin = Plugin(distribution=_name_of(entry.dist), entry_point=entry.name, registry=staging)
    for result in manager.hook.salvor_register_tools(plugin=plugin):
        if inspect.iscoroutine(result):
            result.close()
            raise PluginError(
                "salvor_register_tools is async, and nobody awaits it.", hint="Write a plain def."
            )


def _check_names(manager: pluggy.PluginManager, entry: EntryPointLike) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        known = [name for name in vars(hooks) if name.startswith("salvor_")]
        raise PluginError(
            f"{entry.value} implements a hook that does not exist: {str(error).splitlines()[0]}.",
            hint=f"The hooks are: {', '.join(known)}.",
        ) from None


def _sentence(error: BaseException) -> str:
    if isinstance(error, SalvorError):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
