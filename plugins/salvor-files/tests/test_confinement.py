"""Neither links nor ``..`` leave the root, not even while somebody swaps them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from salvor_files.confined import Root
from tests.calling import Files

ON_A_FILE: dict[str, dict[str, Any]] = {
    "read_file": {},
    "write_file": {"text": "mine"},
    "append_line": {"line": "mine"},
    "delete_file": {},
    "move_file": {"target": "moved.txt"},
}
ON_A_DIRECTORY: dict[str, dict[str, Any]] = {"list_files": {}, "search_files": {"text": "secret"}}


def given(tool: str, path: str) -> dict[str, Any]:
    first = "source" if tool == "move_file" else "path"
    return {first: path, **{**ON_A_FILE, **ON_A_DIRECTORY}[tool]}


def untouched(outside: Path) -> bool:
    return (
        os.listdir(outside) == ["secret.txt"] and (outside / "secret.txt").read_text() == "secret"
    )


@pytest.mark.parametrize("tool", [*ON_A_FILE, *ON_A_DIRECTORY])
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("../outside/secret.txt", "goes up"),
        ("a/../../outside/secret.txt", "goes up"),
        ("a/..", "goes up"),
        ("..", "goes up"),
        ("{outside}/secret.txt", "is absolute"),
        ("//etc/passwd", "is absolute"),
        ("", "1 to 4096 bytes"),
        ("a\0b", "1 to 4096 bytes"),
        ("é" * 2049, "1 to 4096 bytes"),
        ("x" * 300, "File name too long"),
        (".salvor-files-x", "kept for files being written"),
        ("link/secret.txt", "no directory, or a link"),
        ("link/deeper/secret.txt", "no directory, or a link"),
        ("inner/secret.txt", "no directory, or a link"),
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(
    tool: str, path: str, told: str, files: Files, root: Path, outside: Path
) -> None:
    (root / "link").symlink_to(outside)
    (root / "real").mkdir()
    (root / "inner").symlink_to("real")

    said = files.refusal(tool, **given(tool, path.format(outside=outside)))

    if path == "x" * 300 and tool in ON_A_DIRECTORY:
        told = ""
    assert told in said
    assert untouched(outside)


@pytest.mark.parametrize("tool", ON_A_FILE)
@pytest.mark.parametrize("relative", [True, False])
def test_a_link_in_the_last_place_is_not_followed(
    tool: str, relative: bool, files: Files, root: Path, outside: Path
) -> None:
    target = "../outside/secret.txt" if relative else str(outside / "secret.txt")
    (root / "link.txt").symlink_to(target)

    assert "is a link, not a file" in files.refusal(tool, **given(tool, "link.txt"))
    assert untouched(outside)
    assert (root / "link.txt").is_symlink()


def test_a_file_that_became_a_link_meanwhile_is_not_followed(root: Path, outside: Path) -> None:
    (root / "a.txt").symlink_to(outside / "secret.txt")
    with Root(root).place("a.txt") as place, pytest.raises(OSError, match="symbolic links"):
        place.open(os.O_RDWR)


@pytest.mark.parametrize("tool", ["write_file", "append_line"])
def test_a_link_that_leads_nowhere_makes_nothing_there(
    tool: str, files: Files, root: Path, outside: Path
) -> None:
    (root / "link.txt").symlink_to(outside / "new.txt")

    files.refusal(tool, **given(tool, "link.txt"))

    assert untouched(outside)


def test_a_move_does_not_lead_out(files: Files, root: Path, outside: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "link").symlink_to(outside)

    files.refusal("move_file", source="a.txt", target="link/a.txt")
    files.refusal("move_file", source="a.txt", target="../outside/a.txt")

    assert untouched(outside)
    assert (root / "a.txt").exists()


def test_missing_directories_are_not_made_through_a_link(
    files: Files, root: Path, outside: Path
) -> None:
    (root / "link").symlink_to(outside)

    files.refusal("write_file", path="link/a/b.txt", text="x", make_directories=True)

    assert untouched(outside)


def test_links_are_listed_and_never_followed(files: Files, root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside)

    listed = files.call("list_files", recursive=True)
    found = files.call("search_files", text="secret")

    assert [(entry["path"], entry["kind"]) for entry in listed["entries"]] == [("link", "link")]
    assert found == {"matches": [], "skipped": [], "complete": True}
    assert "no directory, or a link" in files.refusal("list_files", path="link")


@pytest.mark.parametrize("tool", ON_A_FILE)
def test_pipes_are_refused_without_waiting(tool: str, files: Files, root: Path) -> None:
    os.mkfifo(root / "pipe")

    assert "a device, pipe or socket" in files.refusal(tool, **given(tool, "pipe"))


@pytest.mark.parametrize("tool", ON_A_FILE)
def test_a_directory_is_not_a_file(tool: str, files: Files, root: Path) -> None:
    (root / "sub").mkdir()

    assert "is a directory, not a file" in files.refusal(tool, **given(tool, "sub"))


@contextmanager
def swapping(root: Path, outside: Path) -> Iterator[None]:
    """Something that is now a directory of the root, now a link out of it."""
    (root / "now").mkdir()
    (root / "now" / "secret.txt").write_text("inside")
    (root / "link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            os.rename(root / "now", root / "kept")
            os.rename(root / "link", root / "now")
            os.rename(root / "now", root / "link")
            os.rename(root / "kept", root / "now")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_swapping_a_directory_for_a_link_leads_nowhere(
    files: Files, root: Path, outside: Path
) -> None:
    confined = Root(root)
    outcomes = set()
    with swapping(root, outside):
        for _ in range(3000):
            try:
                with confined.place("now/secret.txt") as place:
                    descriptor = place.open(os.O_RDONLY)
            except Exception as error:
                outcomes.add(type(error).__name__)
                continue
            with open(descriptor) as file:
                outcomes.add(file.read())

    assert "secret" not in outcomes
    assert outcomes & {"inside"}
    assert untouched(outside)
