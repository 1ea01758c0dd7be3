from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from salvor.errors import OutputRefused
from salvor.runtime.places import described, place_of
from salvor.tools.schema import ValueType


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raised(act: Callable[[], object]) -> Exception:
    with pytest.raises((OutputRefused, json.JSONDecodeError)) as caught:
        act()
    return caught.value


def test_the_last_line_of_the_users_own_code_counts() -> None:
    line = test_the_last_line_of_the_users_own_code_counts.__code__.co_firstlineno + 2
    place = place_of(raised(lambda: json.loads("{")))

    assert place == f"{__file__}:{line}"


def test_frames_of_salvor_never_count() -> None:
    error = raised(lambda: ValueType(int, where="x").encode(object()))
    place = place_of(error)

    assert place is not None
    assert place.startswith(f"{__file__}:")


def test_what_has_no_frames_has_no_place() -> None:
    assert place_of(ValueError("x")) is None
    assert place_of(None) is None


def test_a_library_counts_where_there_is_nothing_else() -> None:
    error = raised(lambda: json.loads("{"))
    while error.__traceback__ is not None and error.__traceback__.tb_frame.f_globals is globals():
        error.__traceback__ = error.__traceback__.tb_next

    place = place_of(error)

    assert place is not None
    assert "/json/" in place


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("so it is."), "ValueError: so it is"),
        (ValueError(), "ValueError"),
        (Mute(), "Mute"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
    ],
)
def test_an_exception_is_described_whatever_its_text(error: Exception, said: str) -> None:
    assert described(error) == said
