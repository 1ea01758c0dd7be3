"""Docstrings as people write them: odd headings, entries and continuations lose no text."""

from __future__ import annotations

import textwrap
from functools import partial, update_wrapper

import pytest

from salvor.tools.docstring import documentation_of, read_docstring


@pytest.mark.parametrize(
    "title",
    ["## Args", "# Parameters", "### Args:", "**Args**", "**Args:**", "**Parameters**:", "args:"],
)
@pytest.mark.parametrize(
    "entry",
    [
        "    a: the text",
        "    a (int): the text",
        "    a (Literal['x: y'], optional): the text",
        "    - a: the text",
        "- a: the text",
        "* `a`: the text",
        "- **a** (int): the text",
        "- **a:** the text",
        "- a - the text",
        "    a - the text",
        "    a -- the text",
        "    a \u2013 the text",
        "\n    *a: the text",
        "\n- a: the text\n\n- b: other",
    ],
)
def test_a_heading_and_an_entry_may_be_written_in_many_ways(title: str, entry: str) -> None:
    found = read_docstring(f"Summary.\n\n{title}\n{entry}\n\nMore prose.", ("a", "b"))

    assert found.parameters["a"] == "the text"
    assert found.parameters.keys() <= {"a", "b"}
    assert found.description == "Summary.\n\nMore prose."


@pytest.mark.parametrize(
    "entry", ["a:the text", "a :the text", "- `a`:the text", "a\uff1athe text"]
)
def test_a_known_name_needs_no_space_behind_its_colon(entry: str) -> None:
    found = read_docstring(
        f"S.\n\nArgs:\n    {entry}\n        http://it.is\n    b:other", ("a", "b")
    )

    assert found.parameters == {"a": "the text\nhttp://it.is", "b": "other"}


def test_what_a_section_says_of_no_parameter_stays() -> None:
    above = read_docstring("S.\n\nArgs:\n    All in cents.\n    a: x\n\nMore.", ("a",))
    unread = read_docstring("S.\n\nArgs:\n    See the handbook.\n\nMore.", ("a",))
    empty = read_docstring("S.\n\nArgs:\n\nReturns:\n    x", ("a",))

    assert (above.description, above.parameters) == ("S.\n\nAll in cents.\nMore.", {"a": "x"})
    assert unread.description == "S.\n\nArgs:\n    See the handbook.\n\nMore."
    assert empty.description == "S."


def test_a_dash_in_a_continuation_makes_no_parameter() -> None:
    found = read_docstring("S.\n\nArgs:\n    a: the first\n    part - of it", ("a",))

    assert found.parameters == {"a": "the first\npart - of it"}


def test_paragraphs_of_one_parameter_stay_paragraphs() -> None:
    found = read_docstring("S.\n\nArgs:\n    a: one\n\n        two\n    b: three")

    assert found.parameters == {"a": "one\n\ntwo", "b": "three"}


def test_a_heading_of_prose_stays_where_it_is() -> None:
    text = "S.\n\n## Limits\n\nTen a day.\n\nNote:\n    It is slow.\n\nWarning\n-------\nNo undo."

    assert read_docstring(text).description == text


def test_a_section_after_a_note_is_read() -> None:
    found = read_docstring("S.\nNote:\n    It is slow.\nArgs:\n    a: x")

    assert found.parameters == {"a": "x"}
    assert found.description == "S.\nNote:\n    It is slow."


def test_a_short_underline_is_one() -> None:
    found = read_docstring("S.\n\nParameters\n---\na : int\n    What.\nb\n    Other.")

    assert found.parameters == {"a": "What.", "b": "Other."}


def test_prose_below_numpy_parameters_is_prose() -> None:
    found = read_docstring(
        "S.\n\nParameters\n----------\na : int\n    What.\n\nIt is slow, beware."
    )

    assert found.parameters == {"a": "What."}
    assert found.description == "S.\n\nIt is slow, beware."


def test_prose_below_fields_is_prose() -> None:
    found = read_docstring("S.\n\n:param a: What.\n    More of it.\n:returns: x\n\nIt is slow.")

    assert found.parameters["a"].split() == ["What.", "More", "of", "it."]
    assert found.description == "S.\n\nIt is slow."


def test_one_field_that_the_parser_refuses_costs_no_other() -> None:
    found = read_docstring("S.\n\n:param a: What.\n:class:`X` goes on\n:raises\n:param b: Other.")

    assert found.parameters["b"] == "Other."
    assert found.parameters["a"].startswith("What.")


@pytest.mark.parametrize(
    "text",
    ["@everyone is told.", ":rocket: Launch it.", "S.\n\n---\n\nMore.", "S.\n\n::\n    :\n---"],
)
def test_prose_that_looks_like_markup_stays(text: str) -> None:
    assert read_docstring(text).description == text


def test_a_style_may_change_within_one_docstring() -> None:
    found = read_docstring(
        "S.\n\nArgs:\n    a: x\n\nParameters\n----------\nb : int\n    y\n\n"
        ":param c: z\n@param d: w"
    )

    assert found.parameters == {"a": "x", "b": "y", "c": "z", "d": "w"}


def test_the_first_word_on_a_parameter_counts() -> None:
    assert read_docstring("S.\n\nArgs:\n    a: x\n\n:param a: z").parameters == {"a": "x"}


def test_the_text_does_not_depend_on_who_strips_the_indentation() -> None:
    text = "S.\n\n    Args:\n        a: x\n            y\n    "
    by_compiler = "S.\n\n" + textwrap.dedent("    Args:\n        a: x\n            y\n    ")

    assert read_docstring(text) == read_docstring(by_compiler)


@pytest.mark.parametrize(
    "unit", ["a:", ":param a", "@param a: ", "- a", "a, ", "**", "x\n---\n", "# "]
)
def test_repeated_marks_cost_no_time(unit: str) -> None:
    read_docstring("S.\n\nParameters\n----------\n" + unit * 20_000)
    read_docstring("S.\n\nArgs:\n    " + unit * 20_000)
    read_docstring("S.\n\n:param x: " + unit * 20_000)


def greet(name: str) -> str:
    """Say hello."""
    return name


class Loud:
    """A loud one."""

    def __call__(self, name: str) -> str:
        return name


class Told(Loud):
    def __call__(self, name: str) -> str:
        """Say it."""
        return name


def test_a_partial_says_what_it_binds_says() -> None:
    assert documentation_of(partial(greet, name="x")) == "Say hello."
    assert documentation_of(update_wrapper(partial(greet), greet)) == "Say hello."
    assert documentation_of(partial(partial(greet), name="x")) == "Say hello."


def test_a_callable_object_says_what_its_call_or_else_its_class_says() -> None:
    assert documentation_of(Loud()) == "A loud one."
    assert documentation_of(Told()) == "Say it."


def test_what_is_not_documented_says_nothing() -> None:
    class Silent:
        def __call__(self) -> None: ...

    assert documentation_of(Silent()) is None
    assert documentation_of(lambda: None) is None


@pytest.mark.parametrize("fence", ["```", "~~~", "```python"])
def test_what_stands_in_a_fence_is_an_example(fence: str) -> None:
    text = f"""Summary.

{fence}
Args:
    path: an example

:param path: another
{fence[:3]}

Args:
    path: the path
"""

    found = read_docstring(text, ("path",))

    assert found.parameters == {"path": "the path"}
    assert found.description.endswith(f":param path: another\n{fence[:3]}")


def test_a_fence_that_is_left_open_hides_nothing() -> None:
    found = read_docstring("Summary.\n\n```\nArgs:\n    path: the path\n", ("path",))

    assert found.parameters == {"path": "the path"}
