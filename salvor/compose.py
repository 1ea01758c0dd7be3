"""The one place that names concrete parts: from settings to a running runtime."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import anyio

from salvor.clock import Clock, Ids, SystemClock, SystemIds
from salvor.config import ApprovalSettings, Config, ToolSettings, find_config
from salvor.errors import ConfigError, JsonRefused, WorkflowDefinitionError
from salvor.events.store import Store
from salvor.plugins.lifespans import lifespans_open
from salvor.plugins.loader import Plugins, load_plugins
from salvor.registry.operators import Word
from salvor.registry.registry import Registry
from salvor.runtime.bodies import DEFAULT_LIMIT
from salvor.runtime.host import Progress
from salvor.runtime.outcome import RunResult
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_module
from salvor.stores.connect import open_store
from salvor.tools.approval import ApprovalRule
from salvor.tools.contract import Retry

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_STORE = "./salvor.db"

_log = logging.getLogger("salvor.plugins")


@asynccontextmanager
async def open_runtime(
    store: str | Store = DEFAULT_STORE,
    *,
    registry: Registry | None = None,
    plugins: bool | Plugins = True,
    modules: Sequence[str] = (),
    config: Config | str | os.PathLike[str] | None = None,
    clock: Clock | None = None,
    ids: Ids | None = None,
    lease: float = 30.0,
    claim_wait: float = 10.0,
    max_threads: int = DEFAULT_LIMIT,
    progress: Callable[[Progress], None] | None = None,
    approvals: Sequence[ApprovalRule] | None = None,
) -> AsyncIterator[Runtime]:
    """Open a store and a registry, and a runtime over both.

    Args:
        store: A path, ``memory:``, a URL, or a store.
        registry: The tools; an empty registry by default.
        plugins: Whether installed plugins are loaded into the registry; or what came of
            loading them into it already.
        modules: Modules whose tools are added (dotted names or ``.py`` files).
        config: The operator's file, or what it says; by default the file that ``SALVOR_CONFIG``
            names, or ``./salvor.toml`` if it is there. ``Config()`` says nothing.
        clock: The machine's by default.
        ids: The operating system's by default.
        lease: Seconds a lease lasts.
        claim_wait: Seconds to wait for a key that another run holds.
        max_threads: Synchronous tool bodies that run at a time.
        progress: Told what tools report with `Context.progress`, in the tool's thread.
        approvals: Which calls a person approves first; by default what the operator's file says.

    Raises:
        StoreUnavailable, StoreVersionError: the store cannot be opened.
        ConfigError: the operator's file cannot be used.
        TargetError: a module cannot be loaded.
        PluginError: loading is strict and a plugin failed, or an allowed one is missing.
    """
    clock = clock or SystemClock()
    registry = registry if registry is not None else Registry()
    loads = plugins is True
    said = _said(config)
    plugins = furnish(registry, said, plugins=plugins, modules=modules)
    rules = approval_rules(said) if approvals is None else tuple(approvals)
    if loads:
        _log_reports(plugins)
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
            approvals=rules,
            foreign=plugins.exceptions,
        )
        async with runtime:
            yield runtime


def run(
    workflow: Callable[Concatenate[Run, P], Awaitable[R]],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> RunResult[R]:
    """Start a workflow from synchronous code, and drive it until it rests.

    The store is what ``SALVOR_STORE`` names, by default ``./salvor.db``; plugins and the
    operator's file are those of `open_runtime`.

    Raises:
        WorkflowDefinitionError: it is called where an event loop runs.
    """
    if _in_a_loop():
        raise WorkflowDefinitionError(
            "salvor.run() is for synchronous code, and an event loop is running here.",
            hint="Write `async with open_runtime() as runtime: await runtime.run(...)`.",
        )

    async def driven() -> RunResult[R]:
        async with open_runtime(os.environ.get("SALVOR_STORE") or DEFAULT_STORE) as runtime:
            return await runtime.run(workflow, *args, **kwargs)

    return anyio.run(driven)


def _in_a_loop() -> bool:
    try:
        anyio.get_current_task()
    except Exception:  # which one says that no loop runs differs between releases of anyio
        return False
    return True


def furnish(
    registry: Registry,
    config: Config,
    *,
    plugins: bool | Plugins = True,
    modules: Sequence[str] = (),
    strict: bool | None = None,
) -> Plugins:
    """Fill a registry: modules, plugins, and then the operator's word on all of their tools.

    Args:
        registry: Where the tools go.
        config: What the operator says.
        plugins: Whether installed plugins are loaded; or what came of loading them already.
        modules: Modules whose tools are added beside those that the operator names.
        strict: Raise for the first plugin that fails; by default ``SALVOR_STRICT_PLUGINS``.

    Raises:
        ConfigError: the operator's word is on a tool that is not there, or does not fit it.
        TargetError: a module cannot be loaded.
        PluginError: loading is strict and a plugin failed, or an allowed one is missing.
    """
    for place in (*_places(config), *modules):
        registry.add(load_module(place))
    if plugins is True:
        plugins = load_plugins(
            registry,
            strict=strict,
            allow=config.allow_plugins,
            block=config.block_plugins,
            tables=config.plugins,
        )
    found = plugins or Plugins()
    _operate(registry, config, found)
    return found


def _operate(registry: Registry, config: Config, plugins: Plugins) -> None:
    words = {name: _word(said, config.lines.get(name, 0)) for name, said in config.tools.items()}
    try:
        registry.operate(words, source=config.source)
    except ConfigError as error:
        # A tool may be missing because its plugin is.
        missing = [
            f"The plugin {report.id} is left out: {report.error}"
            for report in plugins
            if report.error is not None
        ]
        raise ConfigError(source=error.source, faults=[*error.faults, *missing]) from None


def approval_rules(config: Config) -> tuple[ApprovalRule, ...]:
    """The operator's rules of approval.

    Raises:
        ConfigError: a rule cannot be used.
    """
    try:
        return tuple(_rule(said, number) for number, said in enumerate(config.approvals))
    except JsonRefused as error:
        raise ConfigError(source=config.source, faults=[error.message]) from None


def _rule(said: ApprovalSettings, number: int) -> ApprovalRule:
    tools, effects = said.tools or (), said.effect or ()
    return ApprovalRule(
        tools=(tools,) if isinstance(tools, str) else tools,
        effects=(effects,) if isinstance(effects, str) else effects,
        when=said.when,
        deadline=said.deadline,
        place=f"approvals.{number}.",
    )


def _said(config: Config | str | os.PathLike[str] | None) -> Config:
    return config if isinstance(config, Config) else find_config(config)


def _places(config: Config) -> list[str]:
    """The modules of a file; those that are files themselves are found beside it."""
    beside = Path(config.source).parent
    return [str(beside / one) if one.endswith(".py") else one for one in config.modules]


def _word(said: ToolSettings, line: int) -> Word:
    retry = said.retry
    return Word(
        effect=said.effect,
        key=said.key,
        claim_scope=said.claim_scope,
        retry=Retry(attempts=retry.attempts, backoff=retry.backoff) if retry is not None else None,
        timeout=said.timeout,
        approval=said.approval,
        place=f"line {line}: " if line else "",
    )


def _log_reports(plugins: Plugins) -> None:
    for report in plugins:
        if report.error is not None:
            told = (report.id, report.version, report.error)
            _log.warning("the plugin %s %s is left out: %s", *told)
    for warning in plugins.warnings:
        _log.warning("plugins: %s", warning)
