"""Writing, appending, moving and deleting, and what is left when one of them fails."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from salvor_files.confined import TEMPORARY, Place, Root, changing
from salvor_files.settings import Settings
from salvor_files.writing import Writing, _mark, _replace
from tests.calling import Files

from salvor.errors import ToolFailure
from salvor.tools.context import Context


def names(root: Path) -> list[str]:
    return sorted(os.listdir(root))


def test_a_file_is_made(files: Files, root: Path) -> None:
    assert files.call("write_file", path="a.txt", text="é") == {"path": "a.txt", "size": 2}
    assert (root / "a.txt").read_text() == "é"
    assert names(root) == ["a.txt"]


def test_a_file_is_replaced_in_one_step_and_keeps_its_mode(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("old")
    (root / "a.txt").chmod(0o640)
    with open(root / "a.txt") as reader:
        files.call("write_file", path="a.txt", text="new")
        seen = reader.read()

    assert (seen, (root / "a.txt").read_text()) == ("old", "new")
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640
    assert names(root) == ["a.txt"]


def test_a_file_that_nobody_may_write_is_left_alone(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("old")
    (root / "a.txt").chmod(0o444)

    assert "is read-only" in files.refusal("write_file", path="a.txt", text="new")
    assert (root / "a.txt").read_text() == "old"


def test_missing_directories_are_made_when_asked(files: Files, root: Path) -> None:
    assert "No such file" in files.refusal("write_file", path="x/y/a.txt", text="t")

    files.call("write_file", path="x/y/a.txt", text="t", make_directories=True)

    assert (root / "x/y/a.txt").read_text() == "t"


def test_a_text_that_is_too_large_is_refused(root: Path) -> None:
    files = Files(root, max_file_bytes=5)
    files.call("write_file", path="a.txt", text="12345")

    assert "6 bytes large, and 5" in files.refusal("write_file", path="b.txt", text="123456")
    assert "6 bytes large, and 5" in files.refusal("append_line", path="b.txt", line="12345")
    assert "7 bytes large, and 5" in files.refusal("append_line", path="a.txt", line="")
    assert names(root) == ["a.txt"]


@contextmanager
def opened(root: Path) -> Iterator[int]:
    descriptor = os.open(root, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def context(key: str) -> Context:
    logger = logging.getLogger("tests")
    return Context(run_id="r", position=1, attempt=1, epoch=1, idempotency_key=key, logger=logger)


def test_what_a_killed_attempt_left_behind_goes_with_the_next_one(root: Path) -> None:
    mine, other = _mark(context("mine")), _mark(context("other"))
    (root / f"{mine}-0").write_text("half")
    (root / f"{other}-0").write_text("of another call")

    with opened(root) as directory:
        _replace(Place(directory, "a.txt", "a.txt"), b"whole", None, mine, os.fsync)

    assert names(root) == sorted([f"{other}-0", "a.txt"])
    assert (root / "a.txt").read_bytes() == b"whole"


def test_a_write_that_fails_leaves_no_file_beside_it(root: Path) -> None:
    (root / "a.txt").mkdir()

    with opened(root) as directory, pytest.raises(ToolFailure) as failed:
        _replace(Place(directory, "a.txt", "a.txt"), b"x", None, _mark(context("k")), os.fsync)

    assert (failed.value.extent, failed.value.final) == ("no", True)
    assert names(root) == ["a.txt"]


def test_files_being_written_are_not_shown(files: Files, root: Path) -> None:
    (root / f"{TEMPORARY}x").write_text("half")

    assert files.call("list_files")["entries"] == []
    assert files.call("search_files", text="half")["matches"] == []


def test_lines_are_added_at_the_end(files: Files, root: Path) -> None:
    first = files.call("append_line", path="log.txt", line="one")
    second = files.call("append_line", path="log.txt", line="zwö")

    assert (first["size"], second["size"]) == (4, 9)
    assert (root / "log.txt").read_text() == "one\nzwö\n"


def test_a_line_never_continues_one_that_was_not_ended(files: Files, root: Path) -> None:
    (root / "log.txt").write_text("cut off")

    files.call("append_line", path="log.txt", line="next")

    assert (root / "log.txt").read_text() == "cut off\nnext\n"


@pytest.mark.parametrize("line", ["a\nb", "a\r"])
def test_a_line_is_one_line(line: str, files: Files, root: Path) -> None:
    assert "no line break" in files.refusal("append_line", path="log.txt", line=line)
    assert names(root) == []


def test_a_file_is_moved(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "sub").mkdir()

    assert files.call("move_file", source="a.txt", target="sub/b.txt") == {"path": "sub/b.txt"}
    assert (root / "sub/b.txt").read_text() == "a"
    assert names(root) == ["sub"]


@pytest.mark.parametrize("target", ["b.txt", "sub", "link", "a.txt"])
def test_a_move_replaces_nothing(target: str, files: Files, root: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "b.txt").write_text("b")
    (root / "sub").mkdir()
    (root / "link").symlink_to("nowhere")

    said = files.refusal("move_file", source="a.txt", target=target)

    assert f"{target!r} is there already" in said
    assert names(root) == ["a.txt", "b.txt", "link", "sub"]
    assert (root / "b.txt").read_text() == "b"


def test_a_file_is_deleted(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("abc")

    assert files.call("delete_file", path="a.txt") == {"path": "a.txt", "size": 3}
    assert names(root) == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("delete_file", {"path": "gone"}), ("move_file", {"source": "gone", "target": "x"})],
)
def test_what_is_not_there_is_named(tool: str, arguments: dict[str, Any], files: Files) -> None:
    assert "there is no file 'gone'" in files.refusal(tool, **arguments)


@pytest.mark.parametrize(("number", "extent"), [(28, "no"), (13, "no"), (5, "unknown")])
def test_a_failed_change_says_whether_it_may_have_happened(number: int, extent: str) -> None:
    with pytest.raises(ToolFailure) as failed, changing("a.txt"):
        raise OSError(number, os.strerror(number))

    assert failed.value.extent == extent


class Disk:
    """Notes what is waited for; the one that ``fails`` counts to does not get to the disk."""

    def __init__(self, root: Path, fails: int = 0) -> None:
        self._root = root
        self._fails = fails
        self.seen: list[str] = []

    def sync(self, descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        self.seen.append(f"{kind} {(self._root / 'a.txt').exists()}")
        if len(self.seen) == self._fails:
            raise OSError(5, "Input/output error")


def tools(root: Path, disk: Disk) -> Writing:
    return Writing(Root(root), Settings(root=root), sync=disk.sync)


def test_a_file_is_on_the_disk_before_it_has_its_name(root: Path) -> None:
    disk = Disk(root)

    tools(root, disk).write_file("a.txt", "x", ctx=context("k"))

    assert disk.seen == ["file False", "directory True"]


def test_a_file_that_does_not_get_to_the_disk_never_gets_its_name(root: Path) -> None:
    with pytest.raises(ToolFailure) as failed:
        tools(root, Disk(root, fails=1)).write_file("a.txt", "x", ctx=context("k"))

    assert (failed.value.extent, names(root)) == ("no", [])


def test_every_change_waits_for_the_disk(root: Path) -> None:
    disk = Disk(root)
    writing = tools(root, disk)
    (root / "sub").mkdir()

    writing.append_line("a.txt", "x")
    writing.move_file("a.txt", "sub/b.txt")
    writing.delete_file("sub/b.txt")

    assert disk.seen == ["file True", "directory True", *["directory False"] * 3]


@pytest.mark.parametrize("fails", [1, 2])
def test_a_change_that_may_not_last_says_that_it_happened(fails: int, root: Path) -> None:
    with pytest.raises(ToolFailure, match="may not survive a power cut") as failed:
        tools(root, Disk(root, fails=fails)).append_line("a.txt", "x")

    assert failed.value.extent == "yes"
    assert (root / "a.txt").read_text() == "x\n"
