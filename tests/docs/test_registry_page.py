"""The page on the registry: its code gives the names that the page says."""

from __future__ import annotations

from pathlib import Path

from examples.snippets.registry.desks import registry

PAGE = (Path(__file__).parents[2] / "docs/reference/registry.md").read_text()


def test_the_names_are_those_on_the_page() -> None:
    first, second, third = [found.name for found in registry]

    assert f"`{first}`, `{second}` and `{third}`" in PAGE
    assert registry.provenance("search_south").original_name == "find"
