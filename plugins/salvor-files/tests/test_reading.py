"""Reading, listing and searching, and the bounds of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.calling import Files


def test_a_file_is_read_whole(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("héllo\n")

    assert files.call("read_file", path="./a.txt") == {
        "text": "héllo\n",
        "offset": 0,
        "next_offset": None,
        "size": 7,
    }


@pytest.mark.parametrize("limit", [4, 5, 6, 7, 100])
def test_parts_put_together_are_the_file_and_cut_no_character(
    limit: int, files: Files, root: Path
) -> None:
    whole = "a€𝄞é" * 9
    (root / "a.txt").write_text(whole)

    parts: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = files.call("read_file", path="a.txt", offset=offset, limit=limit)
        parts.append(part["text"])
        offset = part["next_offset"]

    assert "".join(parts) == whole
    assert all(len(part.encode()) <= limit for part in parts)


def test_one_call_reads_no_more_than_the_operator_allows(root: Path) -> None:
    (root / "a.txt").write_text("x" * 100)

    part = Files(root, max_read_bytes=10).call("read_file", path="a.txt", limit=50)

    assert (len(part["text"]), part["next_offset"], part["size"]) == (10, 10, 100)


def test_beyond_the_end_there_is_nothing(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("abc")

    part = files.call("read_file", path="a.txt", offset=99)

    assert (part["text"], part["next_offset"]) == ("", None)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"ok \x80", b"cut \xe2\x82"])
def test_what_is_not_text_is_refused(data: bytes, files: Files, root: Path) -> None:
    (root / "a.bin").write_bytes(data)

    assert "is not text in UTF-8" in files.refusal("read_file", path="a.bin")


@pytest.mark.parametrize(("offset", "limit"), [(-1, None), (0, 3), (0, -1)])
def test_offsets_and_limits_that_mean_nothing_are_refused(
    offset: int, limit: int | None, files: Files, root: Path
) -> None:
    (root / "a.txt").write_text("abc")

    assert "offset is 0" in files.refusal("read_file", path="a.txt", offset=offset, limit=limit)


def test_a_missing_file_is_named(files: Files) -> None:
    assert "there is no file 'gone.txt'" in files.refusal("read_file", path="gone.txt")
    assert "No such file" in files.refusal("read_file", path="gone/a.txt")


def tree(root: Path) -> None:
    for path in ("b.txt", "a/one.txt", "a/deep/two.md", "c/three.txt"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"first line\nthis is {path}\n")


def paths(listing: dict[str, list[dict[str, str]]]) -> list[str]:
    return [entry["path"] for entry in listing["entries"]]


def test_a_directory_is_listed_in_order(files: Files, root: Path) -> None:
    tree(root)

    flat = files.call("list_files")
    below = files.call("list_files", path="./a/", recursive=True)

    assert [(one["path"], one["kind"]) for one in flat["entries"]] == [
        ("a", "directory"),
        ("b.txt", "file"),
        ("c", "directory"),
    ]
    assert flat["complete"] is True
    assert paths(below) == ["a/deep", "a/deep/two.md", "a/one.txt"]


def test_a_pattern_chooses_names(files: Files, root: Path) -> None:
    tree(root)

    assert paths(files.call("list_files", recursive=True, pattern="*.md")) == ["a/deep/two.md"]


@pytest.mark.parametrize("bound", [{"max_entries": 2}, {"max_visited": 2}])
def test_a_listing_that_is_cut_says_so(bound: dict[str, int], root: Path) -> None:
    tree(root)

    listing = Files(root, **bound).call("list_files", recursive=True)

    assert (paths(listing), listing["complete"]) == (["a", "a/deep"], False)


def test_a_listing_that_just_fits_is_complete(root: Path) -> None:
    tree(root)

    assert Files(root, max_entries=3, max_visited=3).call("list_files")["complete"] is True


def test_a_very_deep_tree_is_cut_instead_of_followed(files: Files, root: Path) -> None:
    place = root
    for _ in range(80):
        place = place / "d"
        place.mkdir()

    listing = files.call("list_files", recursive=True)

    assert (len(listing["entries"]), listing["complete"]) == (64, False)


def test_names_that_are_no_text_are_left_out(files: Files, root: Path) -> None:
    (root / "a.txt").touch()
    try:
        (root / "\udcff.txt").touch()
    except OSError:
        return  # this file system holds no such names

    assert paths(files.call("list_files")) == ["a.txt"]


def test_lines_that_hold_a_text_are_found(files: Files, root: Path) -> None:
    tree(root)

    found = files.call("search_files", text="this is a", pattern="*.txt")

    assert found == {
        "matches": [{"path": "a/one.txt", "line": 2, "text": "this is a/one.txt"}],
        "skipped": [],
        "complete": True,
    }


def test_a_text_is_no_expression(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("a.c\nabc\n")

    lines = [match["line"] for match in files.call("search_files", text="a.c")["matches"]]

    assert lines == [1]


def test_files_that_cannot_be_searched_are_named(root: Path) -> None:
    (root / "a.bin").write_bytes(b"\xff needle")
    (root / "big.txt").write_text("needle" * 10)
    (root / "c.txt").write_text("needle")

    found = Files(root, max_file_bytes=20).call("search_files", text="needle")

    assert [match["path"] for match in found["matches"]] == ["c.txt"]
    assert (found["skipped"], found["complete"]) == (["a.bin", "big.txt"], True)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [({"max_entries": 3}, 3), ({"max_searched_bytes": 70}, 2), ({"max_visited": 3}, 1)],
)
def test_a_search_that_is_cut_says_so(bound: dict[str, int], expected: int, root: Path) -> None:
    tree(root)

    found = Files(root, **bound).call("search_files", text="line")

    assert (len(found["matches"]), found["complete"]) == (expected, False)


def test_a_long_line_is_cut(files: Files, root: Path) -> None:
    (root / "a.txt").write_text("x" * 2000)

    [match] = files.call("search_files", text="xx")["matches"]

    assert match["text"] == "x" * 500


@pytest.mark.parametrize("text", ["", "two\nlines"])
def test_a_text_to_find_is_part_of_one_line(text: str, files: Files) -> None:
    assert "a part of one line" in files.refusal("search_files", text=text)
