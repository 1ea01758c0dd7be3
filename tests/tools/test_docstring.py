"""Docstrings: four styles, odd lines, and hostile text that must not cost time."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salvor.tools.docstring import MAX_CHARACTERS, read_docstring

GOOGLE = """Find a city.

Args:
    city: Where.
    limit (int, optional): How many.
        A second line.

Returns:
    The places.
"""
NUMPY = """Find a city.

Parameters
----------
city : str
    Where.
limit : int, optional
    How many.
    A second line.

Returns
-------
list
    The places.
"""
SPHINX = """Find a city.

:param city: Where.
:param int limit: How many.
    A second line.
:returns: The places.
"""
EPYTEXT = """Find a city.

@param city: Where.
@param limit: How many.
    A second line.
@return: The places.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, EPYTEXT])
def test_four_styles_say_the_same(text: str) -> None:
    found = read_docstring(text)

    assert found.description == "Find a city."
    assert found.parameters["city"] == "Where."
    assert found.parameters["limit"].split() == ["How", "many.", "A", "second", "line."]


@pytest.mark.parametrize("text", [None, "", "  \n  "])
def test_no_docstring_says_nothing(text: str | None) -> None:
    assert read_docstring(text).description == ""


def test_a_section_without_a_blank_line_before_it_is_read() -> None:
    found = read_docstring("Find a city.\nArgs:\n    city: where")

    assert (found.description, found.parameters) == ("Find a city.", {"city": "where"})


def test_a_blank_line_below_the_title_changes_nothing() -> None:
    assert read_docstring("S.\n\nArgs:\n\n    city: where").parameters == {"city": "where"}


def test_a_continuation_with_a_colon_is_no_parameter() -> None:
    found = read_docstring(
        "S.\n\nArgs:\n    q: first part\n        see also: other part\n    k: how many"
    )

    assert found.parameters == {"q": "first part\nsee also: other part", "k": "how many"}


def test_a_line_of_spaces_between_sections_is_a_blank_line() -> None:
    found = read_docstring(
        "S.\n\n    Args:\n        a: x\n        b: y\n    \n    Returns:\n        z"
    )

    assert found.parameters == {"a": "x", "b": "y"}


def test_an_unindented_continuation_loses_nothing() -> None:
    found = read_docstring("S.\n\nArgs:\n    a: first\nsecond\n    b: other\n\nMore prose.")

    assert found.parameters == {"a": "first\nsecond", "b": "other"}
    assert found.description == "S.\n\nMore prose."


@pytest.mark.parametrize("title", ["args", "ARGS", "Keyword Args", "Parameters", "Params"])
def test_section_titles_are_known_in_any_case(title: str) -> None:
    assert read_docstring(f"S.\n\n{title}:\n    a: x").parameters == {"a": "x"}


def test_two_sections_of_parameters_are_joined() -> None:
    found = read_docstring("S.\n\nArgs:\n    a: x\n\nKeyword Args:\n    b: y")

    assert found.parameters == {"a": "x", "b": "y"}


def test_a_docstring_that_begins_with_its_section_is_read() -> None:
    found = read_docstring("""Args:
        a: x
        b: y
    """)

    assert found.parameters == {"a": "x", "b": "y"}


def test_a_type_that_holds_a_colon_keeps_the_text() -> None:
    found = read_docstring('S.\n\nArgs:\n    a (Literal["x: y"]): what')

    assert found.parameters == {"a": "what"}


def test_carriage_returns_leave_no_trace() -> None:
    found = read_docstring("S.\r\n\r\nArgs:\r\n    a: x\r\n")

    assert (found.description, found.parameters) == ("S.", {"a": "x"})


def test_stars_and_backslashes_are_no_part_of_a_name() -> None:
    found = read_docstring("S::\n\n    name (type): text\n\nArgs:\n    path: p\n    \\*\\*opts: o")

    assert found.parameters == {"path": "p", "opts": "o"}


def test_names_that_share_a_numpy_entry_share_its_text() -> None:
    found = read_docstring("S.\n\nParameters\n----------\na, b : int\n    Both.")

    assert found.parameters == {"a": "Both.", "b": "Both."}


def test_sections_other_than_parameters_leave_the_description() -> None:
    found = read_docstring("S.\n\nMore.\n\nRaises:\n    ValueError\n\nExample:\n    f(1)")

    assert found.description == "S.\n\nMore."


def test_a_text_that_breaks_the_parser_is_a_description() -> None:
    assert read_docstring("::\n    :\n---").parameters == {}


def test_the_description_is_the_same_whatever_the_indentation() -> None:
    indented = "S.\n\n        More.\n        Yet more.\n        "

    assert (
        read_docstring(indented).description == read_docstring("S.\n\nMore.\nYet more.").description
    )


@pytest.mark.parametrize(
    "text",
    [
        "S.\n\nArgs:\n    a" + "(" * 1600 + ": x",
        "S.\n\nParameters\n----------\na" + "(" * 1600 + " : x\n    y",
        "S.\n\n:param " + "(" * 5000,
        "S.\n\n" + "x\n-\n" * 100_000,
    ],
)
def test_hostile_text_costs_no_time_and_keeps_its_summary(text: str) -> None:
    assert read_docstring(text).description.startswith("S.")


def test_a_line_full_of_brackets_keeps_its_text() -> None:
    found = read_docstring("S.\n\nMore.\n\n:param a: " + "(" * 100)

    assert (found.description, found.parameters) == ("S.\n\nMore.", {"a": "(" * 100})


def test_only_the_beginning_of_a_huge_docstring_is_read() -> None:
    assert len(read_docstring("S. " * MAX_CHARACTERS).description) <= MAX_CHARACTERS


LINES = [
    *("Args:", "    a: x", "        b: c", "(", ":param a: x", "@param a: y", "---", ""),
    *("Returns:", "a : int", "Parameters", "::", "    :", "x", "Raises:", "\t", "\x0b"),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=12))
def test_no_docstring_can_fail(lines: list[str]) -> None:
    read_docstring("\n".join(lines))


def test_reading_leaves_logging_as_it_is() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.root.manager.disable)

    for text in (GOOGLE, NUMPY, "S.\n\nArgs:\n    nothing here\n", "::\n    :\n---"):
        read_docstring(text)

    assert (root.level, list(root.handlers), logging.root.manager.disable) == before
