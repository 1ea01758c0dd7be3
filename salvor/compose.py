"""The one place that names concrete parts: from settings to a running runtime."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from salvor.clock import Clock, Ids, SystemClock, SystemIds
from salvor.events.store import Store
from salvor.plugins.lifespans import lifespans_open
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.runtime.bodies import DEFAULT_LIMIT
from salvor.runtime.host import Progress
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_module
from salvor.stores.connect import open_store

DEFAULT_STORE = "./salvor.db"

_log = logging.getLogger("salvor.plugins")


@asynccontextmanager
async def open_runtime(
    store: str | Store = DEFAULT_STORE,
    *,
    registry: Registry | None = None,
    plugins: bool | Plugins = True,
    modules: Sequence[str] = (),
    clock: Clock | None = None,
    ids: Ids | None = None,
    lease: float = 30.0,
    claim_wait: float = 10.0,
    max_threads: int = DEFAULT_LIMIT,
    progress: Callable[[Progress], None] | None = None,
) -> AsyncIterator[Runtime]:
    """Open a store and a registry, and a runtime over both.

    Args:
        store: A path, ``memory:``, a URL, or a store.
        registry: The tools; an empty registry by default.
        plugins: Whether installed plugins are loaded into the registry; or what came of
            loading them into it already.
        modules: Modules whose tools are added (dotted names or ``.py`` files).
        clock: The machine's by default.
        ids: The operating system's by default.
        lease: Seconds a lease lasts.
        claim_wait: Seconds to wait for a key that another run holds.
        max_threads: Synchronous tool bodies that run at a time.
        progress: Told what tools report with `Context.progress`, in the tool's thread.

    Raises:
        StoreUnavailable, StoreVersionError: the store cannot be opened.
        TargetError: a module cannot be loaded.
        PluginError: loading is strict and a plugin failed, or an allowed one is missing.
    """
    clock = clock or SystemClock()
    registry = registry if registry is not None else Registry()
    for place in modules:
        registry.add(load_module(place))
    if isinstance(plugins, bool):
        plugins = _loaded(registry) if plugins else Plugins()
    async with lifespans_open(plugins.lifespans) as guards:
        opened = open_store(store, clock=clock) if isinstance(store, str) else store
        runtime = Runtime(
            store=opened,
            registry=registry,
            clock=clock,
            ids=ids or SystemIds(),
            lease=lease,
            claim_wait=claim_wait,
            max_threads=max_threads,
            progress=progress,
            guards=(*guards, *plugins.middleware),
        )
        async with runtime:
            yield runtime


def _loaded(registry: Registry) -> Plugins:
    plugins = load_plugins(registry)
    for report in plugins:
        if report.error is not None:
            _log.warning("the plugin %s is left out: %s", report.id, report.error)
    for warning in plugins.warnings:
        _log.warning("plugins: %s", warning)
    return plugins
