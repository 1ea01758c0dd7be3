"""JSON values: strict parsing, the canonical form, hashes, ids and instants."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor.errors import JsonRefused
from salvor.values import (
    MAX_DIGITS,
    as_json,
    canonical_json,
    content_hash,
    format_instant,
    integral,
    json_type,
    parse_instant,
    parse_json,
    parse_object,
    parse_run_id,
    pointer,
    same_json,
    sorted_object,
)

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_the_canonical_text_is_that_of_a_plain_encoder(value: Any) -> None:
    assert canonical_json(value) == json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


@given(values)
def test_a_value_survives_its_canonical_text(value: Any) -> None:
    assert same_json(parse_json(canonical_json(value)), value)


@pytest.mark.parametrize("value", [2.0**53 + 2, -(2.0**53) - 2, 9999999999999998.0, 1e16, 2.0**53])
def test_a_float_without_a_fraction_comes_back_as_one(value: float) -> None:
    found = parse_json(canonical_json(value))
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x"])
def test_what_is_not_json_has_no_canonical_text(value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical_json(value)


def test_the_canonical_text_is_compact_sorted_and_unescaped() -> None:
    assert canonical_json({"b": [1.0, None], "a": "ä\n"}) == '{"a":"ä\\n","b":[1.0,null]}'


def test_values_are_compared_by_their_bytes() -> None:
    assert not same_json(1, 1.0)
    assert not same_json(1, True)
    assert same_json({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_a_hash_is_named_by_its_algorithm() -> None:
    assert content_hash({}) == (
        "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    )


def test_integral_floats_become_integers_everywhere() -> None:
    found = integral({"a": [1.0, 1.5, True, "1.0"], "b": 2.0})

    assert canonical_json(found) == '{"a":[1,1.5,true,"1.0"],"b":2}'


def test_a_pointer_escapes_its_steps() -> None:
    assert pointer(pointer("", "a~/b"), 3) == "/a~0~1b/3"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (float("nan"), "/"),
        ({"a": [float("inf")]}, "/a/0"),
        ({"a": {1: 2}}, "/a"),
        ({"a": "\udcaf"}, "/a"),
        ({"\udcaf": 1}, "/"),
        ([(1, 2)], "/0"),
        ({1}, "/"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(JsonRefused, match=f"the value is not JSON at {place}:"):
        as_json(value)


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_depth_is_limited_in_text_and_in_values(opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    fits = opening * 99 + "[]" + closing * 99
    deeper = opening * 100 + "[]" + closing * 100

    assert as_json(parse_json(fits)) is not None
    with pytest.raises(JsonRefused, match="more than 100 levels"):
        parse_json(deeper)
    with pytest.raises(JsonRefused, match="more than 100 levels"):
        as_json(json.loads(deeper))


def test_brackets_in_text_do_not_nest() -> None:
    assert parse_json('["' + "[" * 500 + '\\"["]') == ["[" * 500 + '"[']
    assert parse_json("[" + ",".join(["[]"] * 500) + "]") == [[]] * 500


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1, column 1"),
        (" \n", "not JSON"),
        ('{"a": 1}}', "line 1, column 9"),
        ("no", "not JSON"),
        ("a: 1", "not JSON"),
        ("{a: 1}", "not JSON"),
        ("{} {}", "line 1, column 4"),
        ("NaN", "NaN is not a JSON number"),
        ("[Infinity]", "Infinity is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e999]", "inf is not a JSON number"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('[{"b": {"a": 1, "a": 1}}]', "the key 'a' stands twice"),
        ('"\\udcaf"', "half a surrogate pair"),
        ('{"\\udcaf": 1}', "half a surrogate pair"),
        (b"\xff", "not UTF-8"),
        ("\ufeff{}", "line 1, column 1"),
        ("[1,]", "not JSON"),
        ("'a'", "not JSON"),
        ("9" * 5000, "too many digits"),
        ('["\x00"]', "not JSON"),
    ],
)
def test_text_that_is_not_strict_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(JsonRefused, match=reason):
        parse_json(text)


def test_integers_keep_all_their_digits() -> None:
    assert parse_json("12345678901234567890123") == 12345678901234567890123


@pytest.mark.parametrize("sign", [1, -1])
def test_an_integer_has_as_many_digits_as_any_process_reads(sign: int) -> None:
    largest = sign * (10**MAX_DIGITS - 1)
    assert parse_json(canonical_json(as_json(largest))) == largest
    for value in ([sign * 10**MAX_DIGITS], {"a": sign * 10**5000}):
        with pytest.raises(JsonRefused, match="an integer has at most 4,300 digits"):
            as_json(value)


@pytest.mark.parametrize("odd", [None, 5, b"x", ["x"]])
def test_what_is_no_text_is_no_run_id_and_no_instant(odd: object) -> None:
    with pytest.raises(JsonRefused, match="a run id has to be a UUID, got"):
        parse_run_id(odd)
    with pytest.raises(JsonRefused, match="an instant has to be RFC 3339 text"):
        parse_instant(odd)


def test_size_is_counted_in_bytes() -> None:
    assert parse_json('"ää"', max_bytes=6) == "ää"
    with pytest.raises(JsonRefused, match="larger than 5 bytes"):
        parse_json('"ää"', max_bytes=5)
    with pytest.raises(JsonRefused, match="larger than 5 bytes"):
        parse_json('"aaaa"', max_bytes=5)


def test_an_object_is_asked_for_by_name() -> None:
    assert parse_object('{"a": 1}') == {"a": 1}
    with pytest.raises(JsonRefused, match="the input has to be a JSON object, got an array"):
        parse_object("[]", what="the input")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "an integer"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_a_value_is_called_by_its_kind(value: Any, name: str) -> None:
    assert json_type(value) == name


def test_a_run_id_has_one_spelling() -> None:
    spelled = "12345678-1234-5678-1234-56781234567a"

    assert parse_run_id(spelled.upper()) == spelled
    assert parse_run_id(spelled.replace("-", "")) == spelled
    for text in ("", "x", spelled + "0", "{" + spelled + "}", spelled + "\n"):
        with pytest.raises(JsonRefused, match="has to be a UUID"):
            parse_run_id(text)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("2026-01-31t12:00:00.25z", datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC)),
        ("2026-01-31T12:00:00.1234567+02:00", datetime(2026, 1, 31, 10, 0, 0, 123456, UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_an_instant_is_read_in_utc(text: str, moment: datetime) -> None:
    assert parse_instant(text) == moment
    assert parse_instant(format_instant(moment)) == moment


@pytest.mark.parametrize(
    "text",
    [
        *("2026-01-31", "2026-01-31T12:00:00", "2026-02-30T00:00:00Z", "2026-01-31 12:00:00Z"),
        *("2026-01-31T25:00:00Z", "0001-01-01T00:00:00+10:00", "", "now"),
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(JsonRefused, match="instant"):
        parse_instant(text)


def test_a_naive_datetime_is_no_instant() -> None:
    with pytest.raises(JsonRefused, match="time zone"):
        format_instant(datetime(2026, 1, 31))  # noqa: DTZ001


def test_an_instant_is_written_in_utc_without_empty_digits() -> None:
    zone = timezone(timedelta(hours=2))

    assert format_instant(datetime(2026, 1, 31, 12, tzinfo=zone)) == "2026-01-31T10:00:00Z"
    assert format_instant(datetime(2026, 1, 31, 0, 0, 0, 500_000, zone)).endswith("00.5Z")
    assert format_instant(datetime(2026, 1, 31, 0, 0, 10, 10, UTC)).endswith(":10.00001Z")


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_instant_survives_its_text(moment: datetime) -> None:
    assert parse_instant(format_instant(moment)) == moment


def test_an_object_is_sorted_for_people() -> None:
    assert list(sorted_object({"b": 1, "a": 2})) == ["a", "b"]
