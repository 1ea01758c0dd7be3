from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor.events.difference import difference, shown
from salvor.values import same_json


@pytest.mark.parametrize(
    ("recorded", "asked", "found"),
    [
        (1, 1, None),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        (1, 1.0, ("", "1", "1.0")),
        (1, True, ("", "1", "true")),
        ({"a": {"b/c": 1}}, {"a": {"b/c": 2}}, ("/a/b~1c", "1", "2")),
        ({"a": 1}, {}, ("/a", "1", "nothing")),
        ({}, {"a": None}, ("/a", "nothing", "null")),
        ([1, 2], [1, 3], ("/1", "2", "3")),
        ([1], [1, 2], ("", "[1]", "[1,2]")),
        ({"b": 1, "a": 1}, {"b": 2, "a": 2}, ("/a", "1", "2")),
        ([], {}, ("", "[]", "{}")),
    ],
)
def test_the_first_place_that_differs_is_told(recorded: Any, asked: Any, found: Any) -> None:
    assert difference(recorded, asked) == found


def test_what_is_long_is_shortened() -> None:
    assert shown("x" * 500) == '"' + "x" * 199 + "… (502 characters)"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from([1.0, 0.0, "a"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
)


@given(JSON, JSON)
def test_there_is_a_difference_if_and_only_if_the_bytes_differ(left: Any, right: Any) -> None:
    assert (difference(left, right) is None) is same_json(left, right)
