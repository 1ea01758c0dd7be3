"""Loading plugins: in a fixed order, each on its own, all of its tools or none."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from salvor.errors import PluginError
from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.loader import PluginReport, Plugins, load_plugins
from salvor.registry.registry import Registry
from salvor.tools.around import Call, Failure, Guard, Next, Outcome
from salvor.tools.decorator import tool


def named(name: str) -> Any:
    @tool(effect="read", name=name)
    def tooled(a: int) -> None:
        """Do."""

    return tooled


def broken(conn: Registry) -> None:
    """Do."""


class Entry:
    """An entry point that needs no installation."""

    def __init__(
        self, register: Any, *, name: str = "main", dist: str = "acme", version: str = "1.0"
    ) -> None:
        self.name = name
        self.value = f"{dist}.plugin"
        self.dist = SimpleNamespace(name=dist, version=version)
        self._register = register

    def load(self) -> Any:
        if isinstance(self._register, BaseException):
            raise self._register
        if not callable(self._register):
            return self._register
        return SimpleNamespace(salvor_register_tools=hookimpl(self._register))


def adding(*names: str) -> Any:
    def salvor_register_tools(plugin: Plugin) -> None:
        for name in names:
            plugin.registry.add(named(name))

    return salvor_register_tools


def load(*entries: Entry, registry: Registry | None = None) -> Plugins:
    registry = registry if registry is not None else Registry()
    return load_plugins(registry, entry_points=entries, environ={})


def test_the_tools_of_a_plugin_are_added() -> None:
    registry = Registry()

    (report,) = load(Entry(adding("b", "a"), version="2.1"), registry=registry)

    assert [found.name for found in registry] == ["a", "b"]
    assert report == PluginReport(
        distribution="acme",
        version="2.1",
        entry_point="main",
        value="acme.plugin",
        status="loaded",
        error=None,
        tools=("a", "b"),
        hooks=("salvor_register_tools",),
        seconds=report.seconds,
    )
    assert report.seconds >= 0


def test_a_plugin_knows_who_it_is() -> None:
    seen: list[tuple[str, str]] = []

    def salvor_register_tools(plugin: Plugin) -> None:
        seen.append((plugin.distribution, plugin.entry_point))

    load(Entry(salvor_register_tools, name="x", dist="Acme_Tools.Extra"))

    assert seen == [("acme-tools-extra", "x")]


def test_the_order_is_that_of_normalised_distribution_and_name() -> None:
    entries = [
        Entry(adding(), dist="b-dist", name="x"),
        Entry(adding(), dist="B_DIST", name="a"),
        Entry(adding(), dist="a.dist", name="z"),
    ]

    found = [(report.distribution, report.entry_point) for report in load(*entries)]

    assert found == [("a-dist", "z"), ("b-dist", "a"), ("b-dist", "x")]


class Skipped(BaseException):
    """What a test tool leaves a module by."""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Settings(BaseModel):
    token: int


def refusal() -> BaseException:
    try:
        Settings.model_validate({"token": ["s3cret"]})
    except ValidationError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (ImportError("no module\nnamed x"), "ImportError: no module named x"),
        (SystemExit(3), "SystemExit: 3"),
        (RuntimeError(), "RuntimeError"),
        (Skipped("not here"), "Skipped: not here"),
        (GeneratorExit(), "GeneratorExit"),
        (Mute(), "Mute"),
        (refusal(), "ValidationError: Settings: token: Input should be a valid integer"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_stops_no_other_one(fault: BaseException, told: str) -> None:
    registry = Registry()

    reports = load(Entry(fault, dist="a"), Entry(adding("t"), dist="b"), registry=registry)

    assert [(report.status, report.error) for report in reports] == [
        ("failed", told),
        ("loaded", None),
    ]
    assert "t" in registry


def test_a_person_can_still_interrupt_the_loading() -> None:
    with pytest.raises(KeyboardInterrupt):
        load(Entry(KeyboardInterrupt()))


def test_a_plugin_that_fails_half_way_leaves_nothing_behind() -> None:
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.registry.add(named("first"))
        plugin.registry.add_function(broken, effect="read")

    registry = Registry()
    (report,) = load(Entry(salvor_register_tools), registry=registry)

    assert len(registry) == 0
    assert report.tools == ()
    assert "broken: parameter 'conn'" in str(report.error)


def test_a_conflict_names_both_origins_and_leaves_the_first() -> None:
    registry = Registry()
    registry.add(named("taken"))

    (report,) = load(Entry(adding("free", "taken")), registry=registry)

    assert [found.name for found in registry] == ["taken"]
    assert str(report.error).count(__file__) == 2


def test_two_plugins_of_one_name_do_not_shadow_each_other() -> None:
    registry = Registry()

    load(Entry(adding("a"), dist="one"), Entry(adding("b"), dist="two"), registry=registry)

    assert len(registry) == 2


def test_a_plugin_without_hooks_is_a_failure() -> None:
    (report,) = load(Entry(SimpleNamespace(register_tools=print)))

    assert report.status == "failed"
    assert "implements no hook" in str(report.error)


def test_a_hook_without_its_mark_is_a_failure_even_beside_a_marked_one() -> None:
    marked = hookimpl(adding("a"))
    (report,) = load(Entry(SimpleNamespace(salvor_register_tools=marked, salvor_middleware=print)))

    assert report.status == "failed"
    assert "salvor_middleware and does not mark it" in str(report.error)


def test_a_class_is_not_a_plugin() -> None:
    class Acme:
        @hookimpl
        def salvor_register_tools(self, plugin: Plugin) -> None: ...

    entry = Entry(SimpleNamespace())
    entry._register = Acme
    entry.load = lambda: Acme  # type: ignore[method-assign]
    (report,) = load(entry)

    assert "is a class" in str(report.error)


def test_an_instance_with_hooks_is_a_plugin() -> None:
    class Acme:
        @hookimpl
        def salvor_register_tools(self, plugin: Plugin) -> None:
            plugin.registry.add(named("a"))

    (report,) = load(Entry(Acme()))

    assert report.tools == ("a",)


def test_a_hook_that_does_not_exist_is_a_failure() -> None:
    def salvor_register_tool(plugin: Plugin) -> None: ...

    (report,) = load(Entry(SimpleNamespace(salvor_register_tool=hookimpl(salvor_register_tool))))

    assert "hook that does not exist" in str(report.error)
    assert "Did you mean salvor_register_tools?" in str(report.error)


def test_a_hook_with_another_parameter_is_a_failure() -> None:
    def salvor_register_tools(registry: Registry) -> None: ...

    (report,) = load(Entry(salvor_register_tools))

    assert "salvor_register_tools for another version of salvor" in str(report.error)
    assert "there is no registry to hand over" in str(report.error)


def test_an_async_hook_is_a_failure() -> None:
    async def salvor_register_tools(plugin: Plugin) -> None: ...

    (report,) = load(Entry(salvor_register_tools))

    assert "async" in str(report.error)


def test_strict_loading_raises_for_the_first_failure() -> None:
    with pytest.raises(PluginError, match=r"the plugin acme \(main\) 1.0 failed: ImportError: x"):
        load_plugins(Registry(), strict=True, entry_points=[Entry(ImportError("x"))])


def test_the_environment_makes_loading_strict() -> None:
    entries = [Entry(ImportError("x"))]
    with pytest.raises(PluginError):
        load_plugins(Registry(), entry_points=entries, environ={"SALVOR_STRICT_PLUGINS": "1"})

    for word in ("", "0", "false"):
        environ = {"SALVOR_STRICT_PLUGINS": word}
        assert load_plugins(Registry(), entry_points=entries, environ=environ).reports


def test_an_entry_point_without_a_distribution_is_loaded_too() -> None:
    entry = Entry(adding("a"))
    entry.dist = None  # type: ignore[assignment]

    (report,) = load(entry)

    assert (report.distribution, report.version, report.status) == ("unknown", "unknown", "loaded")


def test_a_conflict_between_plugins_names_the_first_one_too() -> None:
    _, second = load(Entry(adding("t"), dist="a"), Entry(adding("t"), dist="b"))

    assert str(second.error).endswith("The first is of the plugin a:main.")


def test_a_plugin_for_another_version_of_salvor_is_not_imported() -> None:
    entry = Entry(KeyboardInterrupt())
    entry.dist.requires = ["salvor-py>=99", "other>=1; extra == 'x'", "not a requirement"]

    (report,) = load(entry)

    assert "acme 1.0 requires salvor-py>=99, and " in str(report.error)


def test_what_is_listed_twice_is_loaded_once_and_silently() -> None:
    plugins = load(Entry(adding("a")), Entry(adding("a")))

    assert [report.status for report in plugins] == ["loaded"]


def test_a_second_value_under_one_name_is_shadowed() -> None:
    second = Entry(adding("b"))
    second.value = "acme.other"

    first, other = load(Entry(adding("a")), second)

    assert (first.status, other.status, other.value) == ("loaded", "shadowed", "acme.plugin")
    assert other.note == "acme.other has the same name, and comes first"


async def around(call: Call, next: Next) -> Outcome:
    return await next()


def guarding(middleware: Any, *, tools: Any = None) -> Any:
    def salvor_middleware(plugin: Plugin) -> Any:
        return middleware

    hooks = {"salvor_middleware": hookimpl(salvor_middleware)}
    if tools is not None:
        hooks["salvor_register_tools"] = hookimpl(tools)
    return SimpleNamespace(**hooks)


def test_middleware_is_collected_in_the_order_of_plugins() -> None:
    plugins = load(
        Entry(guarding(around), dist="b"),
        Entry(guarding(around), dist="a"),
        Entry(guarding(None), dist="c"),
    )

    assert plugins.middleware == (Guard("a:main", around), Guard("b:main", around))


@pytest.mark.parametrize("middleware", [print, "text", lambda call, following: None])
def test_middleware_that_is_not_async_is_a_failure(middleware: Any) -> None:
    plugins = load(Entry(guarding(middleware)))

    assert "is not an async function" in str(plugins.reports[0].error)


@pytest.mark.anyio
async def test_a_plugin_that_guards_calls_and_fails_leaves_none_unguarded() -> None:
    def breaks(plugin: Plugin) -> None:
        raise ValueError("no policy file")

    plugins = load(Entry(guarding(around, tools=breaks)))
    (guard,) = plugins.middleware
    call = Call(
        tool="t",
        effect="read",
        arguments={},
        tags=(),
        run_id="r",
        position=1,
        attempt=1,
        idempotency_key=None,
    )

    async def never() -> Outcome:
        raise AssertionError("the call was let through")

    outcome = await guard.function(call, never)

    assert isinstance(outcome, Failure)
    assert (outcome.extent, outcome.final) == ("no", True)
    assert "no policy file" in outcome.message


def test_a_lifespan_has_to_be_something_to_call() -> None:
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.lifespan("text")  # type: ignore[arg-type]

    (report,) = load(Entry(salvor_register_tools))

    assert "lifespan takes a function" in str(report.error)


def test_lifespans_know_their_plugin_and_its_tools() -> None:
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.registry.add(named("a"))
        plugin.lifespan(nullcontext)

    (lifespan,) = load(Entry(salvor_register_tools)).lifespans
    (guarding_one,) = load(Entry(guarding(around, tools=salvor_register_tools))).lifespans

    assert guarding_one.guards
    assert (lifespan.plugin, lifespan.tools, lifespan.guards) == (
        "acme:main",
        frozenset({"a"}),
        False,
    )
