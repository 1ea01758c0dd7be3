from pathlib import Path

import pytest

from salvor.errors import TargetError
from salvor.runtime.targets import load_module, load_target, split_target, target_of
from tests.support import shop


def test_a_function_of_a_module_is_found_again_by_its_target() -> None:
    target = target_of(shop.paying)

    assert target == "tests.support.shop:paying"
    assert load_target(target) is shop.paying


def test_a_function_of_a_file_has_an_absolute_target_and_is_loaded_once(tmp_path: Path) -> None:
    file = tmp_path / "flows.py"
    file.write_text("def flow(): ...\n")

    flow = load_target(f"{file}:flow")

    assert target_of(flow) == f"{file.resolve()}:flow"
    assert load_target(target_of(flow)) is flow


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("a.b:c", ("a.b", "c")),
        ("a.b", ("a.b", None)),
        ("/x/f.py", ("/x/f.py", None)),
        ("/x/f.py:g.h", ("/x/f.py", "g.h")),
        ("/od:d/f.py", ("/od:d/f.py", None)),
    ],
)
def test_a_target_is_a_place_and_perhaps_a_name(target: str, parts: tuple[str, str]) -> None:
    assert split_target(target) == parts


@pytest.mark.parametrize("target", ["a:", ":b", ":"])
def test_half_a_target_is_refused(target: str) -> None:
    with pytest.raises(TargetError, match="MODULE:NAME"):
        split_target(target)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import nowhere_at_all\n", "nowhere_at_all"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("1 / 0\n", "ZeroDivisionError"),
        ("def broken(:\n", "SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_imported_says_why(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)

    with pytest.raises(TargetError, match=says):
        load_module(str(file))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "flows.py"
    file.write_text("def flow(): ...\n")

    with pytest.raises(TargetError, match="no file"):
        load_module(str(tmp_path / "none.py"))
    with pytest.raises(TargetError, match="no module 'nowhere_at_all'"):
        load_module("nowhere_at_all")
    with pytest.raises(TargetError, match=r"'flaw'\. It has flow"):
        load_target(f"{file}:flaw")
    with pytest.raises(TargetError, match="names no function"):
        load_target(str(file))


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_flows.py").write_text("NAME = 'next door'\n")
    (tmp_path / "flows.py").write_text("from neighbour_of_flows import NAME\ndef flow(): ...\n")

    assert load_module(str(tmp_path / "flows.py")).NAME == "next door"
