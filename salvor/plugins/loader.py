"""Loading plugins: in a fixed order, each on its own, all of its tools or none."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from salvor.errors import DuplicateToolError, PluginError, SalvorError
from salvor.plugins.calling import Hooks
from salvor.plugins.discovery import EntryPointLike, Found, given, installed
from salvor.plugins.hooks import Lifespan, Plugin
from salvor.plugins.requirements import unmet_host
from salvor.plugins.selection import Selection, is_strict, selection
from salvor.plugins.settings import Unconfigured
from salvor.registry.registry import Registry
from salvor.tools.around import Call, Failure, Guard, Middleware, Next, Outcome
from salvor.tools.foreign import Verdict
from salvor.tools.saying import in_one_line

Status: TypeAlias = Literal["loaded", "failed", "unconfigured", "blocked", "shadowed", "found"]
Tables: TypeAlias = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginReport:
    """What became of one plugin.

    Attributes:
        distribution: The normalised name of the distribution it comes from.
        version: That distribution's version.
        entry_point: Its name in the group.
        value: What the entry point names.
        status: Whether it is in; ``unconfigured`` when it needs settings and was given none,
            ``found`` when nobody tried to load it.
        error: What went wrong, as one sentence.
        note: Why it is not in, though nothing went wrong.
        tools: The names of its tools.
        hooks: The hooks it implements.
        seconds: How long importing and registering took.
    """

    distribution: str
    version: str
    entry_point: str
    value: str
    status: Status
    error: str | None = None
    note: str | None = None
    tools: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def id(self) -> str:
        """Distribution and entry point."""
        return f"{self.distribution}:{self.entry_point}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LifespanOf:
    """A lifespan and whose it is.

    ``tools`` cannot be called when it fails, and with ``guards`` nothing can: a plugin that
    stands around every call does not leave calls unguarded by failing.
    """

    plugin: str
    tools: frozenset[str]
    guards: bool
    manager: Lifespan


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugins:
    """What came of loading: a report for each plugin, and what a runtime takes from them.

    Iterating gives the reports.
    """

    reports: tuple[PluginReport, ...] = ()
    middleware: tuple[Guard, ...] = ()
    lifespans: tuple[LifespanOf, ...] = ()
    exceptions: Mapping[str, Verdict] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[PluginReport]:
        return iter(self.reports)


def load_plugins(
    registry: Registry,
    *,
    strict: bool | None = None,
    entry_points: Iterable[EntryPointLike] | None = None,
    allow: Iterable[str] | None = None,
    block: Iterable[str] = (),
    tables: Tables | None = None,
    environ: Mapping[str, str] | None = None,
) -> Plugins:
    """Load every plugin that may load, and add its tools.

    A plugin that fails leaves nothing behind and stops no other one. If it would have stood
    around calls, calls are denied until it is fixed or blocked.

    Args:
        registry: Where the tools go.
        strict: Raise for the first plugin that fails; by default ``SALVOR_STRICT_PLUGINS``.
        entry_points: The plugins; by default all that are installed.
        allow: Only these; by default all. ``SALVOR_PLUGINS`` takes its place.
        block: None of these. ``SALVOR_PLUGINS`` adds to it.
        tables: The operator's settings, by distribution.
        environ: The environment; by default that of the process.

    Raises:
        PluginError: a plugin failed and loading is strict, or an allowed one is not installed.
    """
    environ = os.environ if environ is None else environ
    found = installed() if entry_points is None else given(entry_points)
    chosen = selection(None if allow is None else tuple(allow), tuple(block), environ)
    chosen.check(found)
    loading = _Loading(
        registry=registry,
        tables=tables or {},
        environ=environ,
        strict=is_strict(strict, environ),
    )
    reports = tuple(_skipped(one, chosen) or loading.load(one) for one in found)
    return Plugins(
        reports=reports,
        middleware=tuple(loading.middleware),
        lifespans=tuple(loading.lifespans),
        exceptions={name: said for name, (said, _) in loading.exceptions.items()},
        warnings=(*chosen.unknown(found), *_tables_of_nobody(tables or {}, found)),
    )


def list_plugins(
    *,
    entry_points: Iterable[EntryPointLike] | None = None,
    allow: Iterable[str] | None = None,
    block: Iterable[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Plugins:
    """What is installed and would load, without importing any of it."""
    environ = os.environ if environ is None else environ
    found = installed() if entry_points is None else given(entry_points)
    chosen = selection(None if allow is None else tuple(allow), tuple(block), environ)
    reports = tuple(_skipped(one, chosen) or _report(one, "found") for one in found)
    return Plugins(reports=reports, warnings=chosen.unknown(found))


def _report(found: Found, status: Status, **known: Any) -> PluginReport:
    return PluginReport(
        distribution=found.distribution,
        version=found.version,
        entry_point=found.entry.name,
        value=found.entry.value,
        status=status,
        **known,
    )


def _skipped(found: Found, chosen: Selection) -> PluginReport | None:
    if found.shadowed is not None:
        return _report(found, "shadowed", note=found.shadowed)
    refusal = chosen.refusal(found)
    return None if refusal is None else _report(found, "blocked", note=refusal)


def _tables_of_nobody(tables: Tables, found: Iterable[Found]) -> tuple[str, ...]:
    known = {one.distribution for one in found}
    return tuple(
        f"[plugins.{name}] is for a distribution that brings no plugin."
        for name in sorted(tables)
        if name not in known
    )


@dataclass(slots=True, kw_only=True)
class _Loading:
    """One pass over the plugins, and what it has gathered so far."""

    registry: Registry
    tables: Tables
    environ: Mapping[str, str]
    strict: bool
    middleware: list[Guard] = field(default_factory=list)
    lifespans: list[LifespanOf] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    exceptions: dict[str, tuple[Verdict, str]] = field(default_factory=dict)

    def load(self, found: Found) -> PluginReport:
        """Load one plugin: everything it brings, or nothing."""
        started = time.perf_counter()
        hooks = Hooks(found)
        error: str | None = None
        tools: tuple[str, ...] = ()
        try:
            unmet_host(found)
            hooks.load()
            tools = self._take(found, hooks)
        except KeyboardInterrupt:
            raise
        except BaseException as raised:  # sys.exit, or what a test tool skips by: no plugin's to do
            error = self._sentence(raised)
            self._deny_if_guard(found, hooks, error)
            idle = isinstance(raised, Unconfigured) and "salvor_middleware" not in hooks.implemented
            if idle and not self.strict:
                return _report(found, "unconfigured", note=error, hooks=hooks.implemented)
            if self.strict:
                name = f"{found.distribution} ({found.entry.name})"
                raise PluginError(
                    f"the plugin {name} {found.version} failed: {error}",
                    hint="Fix it, uninstall it, or block it with SALVOR_PLUGINS=-NAME.",
                ) from raised
        return _report(
            found,
            "failed" if error else "loaded",
            error=error,
            tools=tools,
            hooks=hooks.implemented,
            seconds=time.perf_counter() - started,
        )

    def _take(self, found: Found, hooks: Hooks) -> tuple[str, ...]:
        plugin = Plugin(
            distribution=found.distribution,
            entry_point=found.entry.name,
            registry=Registry(),
            _table=self.tables.get(found.distribution, {}),
            _environ=self.environ,
        )
        hooks.register_tools(plugin)
        middleware = hooks.middleware(plugin)
        exceptions = hooks.exceptions(plugin)
        self._check_exceptions(exceptions)
        tools = tuple(tool.name for tool in self.registry.merge(plugin.registry.tools()))
        self.owners.update(dict.fromkeys(tools, found.id))
        self.exceptions.update({name: (said, found.id) for name, said in exceptions.items()})
        if middleware is not None:
            self.middleware.append(Guard(found.id, middleware))
        self.lifespans.extend(
            LifespanOf(
                plugin=found.id,
                tools=frozenset(tools),
                guards=middleware is not None,
                manager=manager,
            )
            for manager in plugin.lifespans
        )
        return tools

    def _check_exceptions(self, exceptions: Mapping[str, Verdict]) -> None:
        for name, said in exceptions.items():
            other, owner = self.exceptions.get(name, (said, ""))
            if other != said:
                raise PluginError(
                    f"it says {said.extent} of the exception {name}, and the plugin {owner} "
                    f"says {other.extent}.",
                    hint="Block one of the two.",
                )

    def _deny_if_guard(self, found: Found, hooks: Hooks, error: str) -> None:
        if "salvor_middleware" in hooks.implemented:
            self.middleware.append(Guard(found.id, denying(f"it failed to load: {error}")))

    def _sentence(self, error: BaseException) -> str:
        if isinstance(error, DuplicateToolError) and error.name in self.owners:
            return f"{error} The first is of the plugin {self.owners[error.name]}."
        if isinstance(error, SalvorError):
            return str(error)
        return in_one_line(error)


def denying(reason: str) -> Middleware:
    """A middleware that lets no call through."""

    async def deny(call: Call, next: Next) -> Outcome:
        return Failure(message=f"no call can be made: {reason}")

    return deny
