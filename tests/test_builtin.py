"""The plugin that ships with salvor comes in by the public hook."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import EntryPoint

from salvor.builtin import salvor_now
from salvor.plugins.loader import load_plugins
from salvor.registry.registry import Registry


def test_it_is_loaded_like_any_other_plugin() -> None:
    registry = Registry()
    entry = EntryPoint(name="builtin", value="salvor.builtin", group="salvor")

    (report,) = load_plugins(registry, strict=True, entry_points=[entry])

    assert report.tools == ("salvor_now",)
    assert registry.get("salvor_now").effect == "read"


def test_the_current_instant_is_given_in_utc() -> None:
    before = datetime.now(UTC)

    assert before <= salvor_now() <= datetime.now(UTC)
    assert salvor_now().tzinfo is UTC
