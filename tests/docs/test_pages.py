"""Pages show files that exist, and every file that is made for a page is shown."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from salvor.events.fold import Status

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
INCLUSION = re.compile(r'--8<-- "([^":]+)(?::([\w-]+))?"')


def inclusions() -> list[tuple[str, str]]:
    return [pair for page in PAGES for pair in INCLUSION.findall(page.read_text())]


@pytest.mark.parametrize(("file", "section"), inclusions())
def test_a_page_includes_what_exists(file: str, section: str) -> None:
    content = (ROOT / file).read_text()

    if section:
        assert f"[start:{section}]" in content
        assert f"[end:{section}]" in content


def test_every_snippet_is_shown_somewhere() -> None:
    shown = {file for file, _ in inclusions()}
    made = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "examples/snippets").rglob("*")
        if path.is_file() and path.suffix in (".py", ".console")
    }

    assert made <= shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_holds_no_python_of_its_own(page: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)

    assert [block for block in blocks if "--8<--" not in block] == []


def test_the_readme_shows_the_file_it_names() -> None:
    readme = (ROOT / "README.md").read_text()
    [block] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)

    assert block == (ROOT / "examples/readme/pay.py").read_text()


def test_links_between_pages_lead_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
        if not (page.parent / target).exists()
    ]

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_that_is_read_as_a_file_says_where_its_code_is(page: Path) -> None:
    folders = {str(Path(file).parent) for file, _ in INCLUSION.findall(page.read_text())}
    links = re.findall(r'<a href="([^"]+)">([^<]+)</a>', page.read_text())

    assert {text for _, text in links} >= folders
    assert all((page.parent / target).resolve() == ROOT / text for target, text in links)


@pytest.mark.parametrize("status", [*get_args(Status), "unreadable", "unsupported"])
def test_every_status_is_explained(status: str) -> None:
    [section] = re.findall(
        r"## salvor list\n(.*?)\n## ", (ROOT / "docs/reference/cli.md").read_text(), re.DOTALL
    )

    assert any(f"`{status}`" in line.split("|")[1] for line in section.splitlines() if "|" in line)
