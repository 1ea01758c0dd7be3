"""A plugin's settings: the operator's table, the environment, the plugin's own model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from salvor.errors import PluginError
from salvor.plugins.hooks import Plugin, hookimpl
from salvor.plugins.loader import load_plugins
from salvor.plugins.settings import read_settings, variable
from salvor.registry.registry import Registry


class Settings(BaseModel):
    root: Path
    limit: int = 10
    follow: bool = False
    hosts: list[str] = []
    token: SecretStr | None = None
    kind: str = Field(default="plain", alias="class")


def read(table: dict[str, Any] | None = None, model: Any = Settings, **environ: str) -> Any:
    return read_settings(model, table=table or {}, environ=environ, distribution="acme-tools")


def test_a_table_is_read_and_defaults_are_filled_in() -> None:
    settings = read({"root": "/srv", "limit": 3, "class": "x"})

    assert (settings.root, settings.limit, settings.kind) == (Path("/srv"), 3, "x")
    assert settings.follow is False


def test_the_environment_wins_over_the_table() -> None:
    settings = read({"root": "/srv"}, SALVOR_PLUGIN_ACME_TOOLS_ROOT="/else")

    assert settings.root == Path("/else")


def test_texts_of_the_environment_become_what_the_model_wants() -> None:
    settings = read(
        SALVOR_PLUGIN_ACME_TOOLS_ROOT="[x]",
        SALVOR_PLUGIN_ACME_TOOLS_LIMIT="7",
        SALVOR_PLUGIN_ACME_TOOLS_FOLLOW="true",
        SALVOR_PLUGIN_ACME_TOOLS_HOSTS='["a", "b"]',
        SALVOR_PLUGIN_ACME_TOOLS_CLASS="{}",
    )

    assert (settings.root, settings.limit, settings.follow) == (Path("[x]"), 7, True)
    assert (settings.hosts, settings.kind) == (["a", "b"], "{}")


def test_a_strict_model_reads_the_environment_too() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        limit: int

    assert read(model=Strict, SALVOR_PLUGIN_ACME_TOOLS_LIMIT="7").limit == 7


def test_every_fault_is_named_with_its_place() -> None:
    with pytest.raises(PluginError) as refused:
        read({"limit": "many"}, SALVOR_PLUGIN_ACME_TOOLS_HOSTS="x")

    said = str(refused.value)
    assert "root is missing (or SALVOR_PLUGIN_ACME_TOOLS_ROOT)" in said
    assert "limit: Input should be a valid integer" in said
    assert "SALVOR_PLUGIN_ACME_TOOLS_HOSTS: Input should be a valid list" in said
    assert "[plugins.acme-tools]" in said


def test_no_message_holds_a_value() -> None:
    with pytest.raises(PluginError) as refused:
        read({"root": 1, "limit": "s3cret-a", "hosts": {"s3cret-b": 1}, "token": ["s3cret-c"]})

    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_a_validator_of_the_model_speaks_for_itself() -> None:
    class Even(BaseModel):
        limit: int

        @field_validator("limit")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("has to be even")
            return value

    with pytest.raises(PluginError, match="limit: Value error, has to be even"):
        read({"limit": 3}, Even)


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(PluginError, match=r"does not know: rot\. Did you mean 'root'\?"):
        read({"rot": "/srv"})


def test_settings_are_a_class_of_models() -> None:
    with pytest.raises(PluginError, match="takes a class of pydantic models, got <class 'dict'>"):
        read(model=dict)


def test_variables_are_spelled_in_one_way() -> None:
    assert variable("acme-tools.x", "max_bytes") == "SALVOR_PLUGIN_ACME_TOOLS_X_MAX_BYTES"


def test_a_plugin_gets_the_table_of_its_distribution() -> None:
    seen: list[Path] = []

    def salvor_register_tools(plugin: Plugin) -> None:
        seen.append(plugin.config(Settings).root)

    def entry(dist: str) -> Any:
        loaded = SimpleNamespace(salvor_register_tools=hookimpl(salvor_register_tools))
        return SimpleNamespace(
            name="main",
            value="x",
            dist=SimpleNamespace(name=dist, version="1.0"),
            load=lambda: loaded,
        )

    plugins = load_plugins(
        Registry(),
        entry_points=[entry("Acme_Tools"), entry("other")],
        tables={"acme-tools": {"root": "/a"}, "acme": {}},
        environ={},
    )

    assert seen == [Path("/a")]
    assert [report.status for report in plugins] == ["loaded", "unconfigured"]
    assert plugins.reports[1].error is None
    assert "root is missing" in str(plugins.reports[1].note)
    assert plugins.warnings == ("[plugins.acme] is for a distribution that brings no plugin.",)


def needing(*, guards: bool) -> Any:
    @hookimpl
    def salvor_register_tools(plugin: Plugin) -> None:
        plugin.config(Settings)

    @hookimpl
    def salvor_middleware(plugin: Plugin) -> None:
        raise AssertionError("never asked")

    loaded = SimpleNamespace(salvor_register_tools=salvor_register_tools)
    if guards:
        loaded.salvor_middleware = salvor_middleware
    return SimpleNamespace(name="main", value="x", dist=None, load=lambda: loaded)


def test_without_settings_strict_loading_raises() -> None:
    with pytest.raises(PluginError, match="it has no settings: root is missing"):
        load_plugins(Registry(), strict=True, entry_points=[needing(guards=False)], environ={})


def test_without_settings_a_plugin_that_guards_calls_has_failed() -> None:
    plugins = load_plugins(Registry(), entry_points=[needing(guards=True)], environ={})

    assert [report.status for report in plugins] == ["failed"]
    assert len(plugins.middleware) == 1
