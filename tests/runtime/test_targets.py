from contextlib import chdir
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


def test_a_file_that_is_imported_already_is_not_loaded_a_second_time() -> None:
    assert load_target(f"{shop.__file__}:paying") is shop.paying


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


@pytest.mark.parametrize("target", ["", ".", "..", ".a:b", "a..b:c", "x.py:y:z", "/some/where"])
def test_what_names_no_place_is_refused_with_the_form_of_a_target(target: str) -> None:
    with pytest.raises(TargetError, match=r"MODULE:NAME or file\.py:NAME, got .*For example"):
        split_target(target)


def test_a_module_is_named_by_words_that_can_be_one() -> None:
    with pytest.raises(TargetError, match=r"a dotted name or a file\.py, got '\.'"):
        load_module(".")


def test_a_file_of_another_kind_is_told_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "flows.txt").touch()

    with chdir(tmp_path), pytest.raises(TargetError, match=r"A file has to end in \.py"):
        load_module("flows.txt")


def test_a_module_of_a_file_goes_by_the_path_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "flows.py"
    file.write_text("class Odd: ...\n")

    module = load_module(str(file))

    assert module.__name__ == str(file)
    assert repr(module.Odd) == f"<class '{file}.Odd'>"


def test_a_failed_import_names_the_line_that_failed(tmp_path: Path) -> None:
    beside = tmp_path / "beside_the_failing.py"
    beside.write_text("import json\nHELD = json.loads('{')\n")
    file = tmp_path / "failing.py"
    file.write_text("import beside_the_failing\n")
    broken = tmp_path / "broken_syntax.py"
    broken.write_text("\ndef f(:\n")

    with pytest.raises(TargetError) as failed:
        load_module(str(file))
    with pytest.raises(TargetError) as unread:
        load_module(str(broken))

    assert str(failed.value).startswith(f"importing {file} failed at {beside}:2: JSONDecodeError: ")
    assert f"failed at {broken}:2: SyntaxError: " in str(unread.value)
    assert f"({broken.name}" not in str(unread.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("class Odd(BaseException): ...\nraise Odd('so it is.')\n", "Odd: so it is."),
        ("raise SystemExit\n", "SystemExit."),
    ],
)
def test_whatever_an_import_raises_is_told_in_a_sentence(
    tmp_path: Path, text: str, says: str
) -> None:
    file = tmp_path / "odd.py"
    file.write_text(text)

    with pytest.raises(TargetError) as failed:
        load_module(str(file))

    assert str(failed.value).endswith(f": {says}")


def test_an_import_may_be_interrupted(tmp_path: Path) -> None:
    file = tmp_path / "interrupted.py"
    file.write_text("raise KeyboardInterrupt\n")

    with pytest.raises(KeyboardInterrupt):
        load_module(str(file))


def test_a_file_has_no_package_to_import_from(tmp_path: Path) -> None:
    file = tmp_path / "flows.py"
    file.write_text("from .neighbour import NAME\n")

    with pytest.raises(TargetError, match="without a dot"):
        load_module(str(file))


def test_a_path_that_a_log_cannot_hold_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "flo\udcffws.py"
    file.write_text("def flow(): ...\n")

    with pytest.raises(TargetError, match="is not UTF-8"):
        load_module(str(file))
