"""JSON values: strict parsing, the canonical form, content hashes, ids and instants."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

from salvor.errors import JsonRefused

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"
JsonObject: TypeAlias = "dict[str, JsonValue]"

MAX_DEPTH = 100
MAX_ARGUMENT_BYTES = 1024 * 1024
MAX_OUTPUT_BYTES = 8 * 1024 * 1024
MAX_DIGITS = 4300
"""Digits of an integer: the most that Python reads by default, so any process reads a log."""


# The accelerator by itself: the package json loads what only reading needs.
try:
    from _json import encode_basestring, make_encoder
except ImportError:  # a Python without it
    from json.encoder import py_encode_basestring as encode_basestring

    make_encoder: Any = None  # type: ignore[no-redef]

quoted: Callable[[str], str] = encode_basestring
"""A text as JSON, as it stands in a canonical text."""


def _encoder(*, sort_keys: bool) -> Callable[[JsonValue, int], Iterable[str]]:
    # JSONEncoder.encode builds its C encoder anew for every call, which takes longer than
    # encoding a small object does.
    make: Any = make_encoder
    if make is not None:
        found = make(None, _no_default, quoted, None, ":", ",", sort_keys, False, False)
    else:
        from json import JSONEncoder

        found = JSONEncoder(
            ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":")
        ).iterencode
    pieces: Callable[[JsonValue, int], Iterable[str]] = found
    return pieces


def _no_default(value: object) -> NoReturn:
    raise TypeError(f"a {type(value).__qualname__} is not JSON")


_pieces = _encoder(sort_keys=True)
_pieces_as_is = _encoder(sort_keys=False)


def canonical_json(value: JsonValue) -> str:
    """The canonical text of a JSON value: compact, keys sorted, non-ASCII unescaped.

    The value has to be JSON already (see `as_json`).
    """
    return "".join(_pieces(value, 0))


def compact_json(value: JsonValue) -> str:
    """Compact JSON text with the keys in the order they have; otherwise as canonical."""
    return "".join(_pieces_as_is(value, 0))


def content_hash(value: JsonValue) -> str:
    """``sha256:`` and the lower-case hex SHA-256 of the canonical text."""
    return text_hash(canonical_json(value))


def text_hash(canonical: str) -> str:
    """The content hash of a value whose canonical text is at hand."""
    import hashlib  # which loads OpenSSL

    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Whether two JSON values are the same: by canonical bytes, since ``1 == 1.0 == True``."""
    return canonical_json(left) == canonical_json(right)


def integral(value: JsonValue) -> JsonValue:
    """The value with every integral float written as the integer it equals."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [integral(item) for item in value]
    if isinstance(value, dict):
        return {key: integral(item) for key, item in value.items()}
    return value


def pointer(parent: str, step: str | int) -> str:
    """The JSON Pointer one step below ``parent`` (RFC 6901)."""
    return f"{parent}/{str(step).replace('~', '~0').replace('/', '~1')}"


def as_json(value: Any, *, what: str = "the value") -> JsonValue:
    """Check that a Python value is JSON as it stands, and return it unchanged.

    Strings without lone surrogates, finite numbers, integers of at most 4300 digits, text
    keys, at most 100 levels deep.

    Raises:
        JsonRefused: naming the place, by JSON Pointer, and what stands there.
    """
    if not _is_json(value, 0):
        _check(value, "", 0, what)
    checked: JsonValue = value
    return checked


_TOO_LARGE: int = 10**MAX_DIGITS


def _is_json(value: Any, depth: int) -> bool:
    """Whether `_check` would pass: the same rules, without keeping track of the place."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _is_utf8(value)
    if kind is int:
        return _has_digits(value)
    if kind is bool or value is None:
        return True
    if kind is float:
        return math.isfinite(value)
    if depth >= MAX_DEPTH:
        return False
    if kind is dict:
        return all(
            type(key) is str and (key.isascii() or _is_utf8(key)) and _is_json(item, depth + 1)
            for key, item in value.items()
        )
    return kind is list and all(_is_json(item, depth + 1) for item in value)


def _has_digits(number: int) -> bool:
    return -_TOO_LARGE < number < _TOO_LARGE


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check(value: Any, at: str, depth: int, what: str) -> None:
    if value is None or value is True or value is False:
        return
    kind = type(value)
    if kind is str:
        if not value.isascii():
            _check_text(value, at, what)
    elif kind is float:
        if not math.isfinite(value):
            _refuse(what, at, f"{value} is not a JSON number")
    elif kind is dict:
        if depth >= MAX_DEPTH:
            _refuse(what, at, f"it is nested more than {MAX_DEPTH} levels deep")
        for key, item in value.items():
            if type(key) is not str:
                _refuse(what, at, f"the key {key!r} is not text")
            if not key.isascii():
                _check_text(key, at, what)
            _check(item, pointer(at, key), depth + 1, what)
    elif kind is list:
        if depth >= MAX_DEPTH:
            _refuse(what, at, f"it is nested more than {MAX_DEPTH} levels deep")
        for index, item in enumerate(value):
            _check(item, f"{at}/{index}", depth + 1, what)
    else:
        _check_integer(value, at, what)


def _check_integer(value: Any, at: str, what: str) -> None:
    if type(value) is not int:
        _refuse(what, at, f"a {type(value).__qualname__} is not JSON")
    if not _has_digits(value):
        _refuse(what, at, f"an integer has at most {MAX_DIGITS:,} digits")


def _check_text(text: str, at: str, what: str) -> None:
    if not _is_utf8(text):
        _refuse(what, at, "the text holds half a surrogate pair, which UTF-8 cannot carry")


def _refuse(what: str, at: str, problem: str) -> NoReturn:
    raise JsonRefused(f"{what} is not JSON at {at or '/'}: {problem}.")


def parse_json(
    text: str | bytes, *, what: str = "the text", max_bytes: int = MAX_ARGUMENT_BYTES
) -> JsonValue:
    """Parse strict JSON: RFC 8259 and nothing else.

    No NaN or Infinity, no duplicate keys, no lone surrogates, at most 100 levels and
    ``max_bytes`` bytes; integers keep all their digits (up to the interpreter's limit).

    Raises:
        JsonRefused: saying what is wrong and where.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise JsonRefused(
                f"{what} is not UTF-8: {error.reason} at byte {error.start}."
            ) from None
    if len(text) > max_bytes or (len(text) * 4 > max_bytes and _size(text) > max_bytes):
        raise JsonRefused(f"{what} is larger than {max_bytes:,} bytes.")
    _check_nesting(text, what)
    try:
        value = _decoder().decode(text)
    except JsonRefused as error:
        raise JsonRefused(f"{what} is not JSON: {error.message}") from None
    except ValueError as error:
        raise _unreadable(what, error) from None
    return as_json(value, what=what)


def _unreadable(what: str, error: ValueError) -> JsonRefused:
    from json import JSONDecodeError

    if not isinstance(error, JSONDecodeError):
        return JsonRefused(f"{what} holds a number with too many digits.")
    return JsonRefused(
        f"{what} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
    )


def parse_object(
    text: str | bytes, *, what: str = "the text", max_bytes: int = MAX_ARGUMENT_BYTES
) -> JsonObject:
    """Parse strict JSON that has to be an object."""
    value = parse_json(text, what=what, max_bytes=max_bytes)
    if not isinstance(value, dict):
        raise JsonRefused(f"{what} has to be a JSON object, got {json_type(value)}.")
    return value


def json_type(value: JsonValue) -> str:
    """What a value is, in a sentence's words: ``a string``, ``an integer``, ``null``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "an object"


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


_STRUCTURE = r'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]'


def _check_nesting(text: str, what: str) -> None:
    # Counted before parsing: the parser's own limit is the interpreter's recursion limit.
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in re.finditer(_STRUCTURE, text, re.DOTALL):
        token = match.group()
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonRefused(f"{what} is nested more than {MAX_DEPTH} levels deep.")
        elif token in "]}":
            depth -= 1


def _no_constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name} is not a JSON number.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise JsonRefused(f"the key {key!r} stands twice in one object.")
            seen.add(key)
    return found


LONG_WHOLE = re.compile(r"[0-9]{16}\.0")
"""What stands in a text wherever a number does that no float holds with all its digits."""


def _float(text: str) -> float | int:
    # 9007199254740993.0 is an integer, and no float has its digits; 9007199254740994.0 is
    # the canonical text of a float, and has to come back as one.
    whole, _, fraction = text.partition(".")
    if len(whole) > 15 and fraction and not fraction.strip("0"):
        number = int(whole)
        if number != float(text):
            return number
    return float(text)


@cache
def _decoder() -> Any:
    from json import JSONDecoder

    return JSONDecoder(parse_constant=_no_constant, parse_float=_float, object_pairs_hook=_object)


_RUN_ID = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")


def parse_run_id(text: object) -> str:
    """A run id in its one spelling: a lower-case, hyphenated UUID.

    Raises:
        JsonRefused: when the text is no UUID.
    """
    if not isinstance(text, str) or not _RUN_ID.fullmatch(text):
        raise JsonRefused(f"a run id has to be a UUID, got {text!r}.")
    return str(UUID(text))


def format_instant(moment: datetime) -> str:
    """An aware instant as RFC 3339 text in UTC: ``2026-01-31T12:00:00.25Z``.

    Raises:
        JsonRefused: it is naive, or UTC has no such year.
    """
    if moment.tzinfo is None:
        raise JsonRefused("an instant needs a time zone, got a naive datetime.")
    try:
        text = (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).isoformat()
    except OverflowError:
        raise JsonRefused(
            f"{moment.isoformat()} is no instant between the years 1 and 9999 of UTC."
        ) from None
    # isoformat() ends in +00:00, and shows either six digits of a second or none.
    return (text[:-6].rstrip("0") if "." in text else text[:-6]) + "Z"


_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)")


def parse_instant(text: object) -> datetime:
    """Read RFC 3339 text as an aware datetime in UTC; digits below the microsecond are cut.

    Raises:
        JsonRefused: when the text is no RFC 3339 instant.
    """
    match = _INSTANT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise JsonRefused(f"an instant has to be RFC 3339 text with a zone, got {text!r}.")
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(
            f"{day}T{clock}.{(fraction or '0')[:6]:0<6}{'+00:00' if zone in 'Zz' else zone}"
        )
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise JsonRefused(f"{text!r} is no instant of the calendar.") from None


def sorted_object(value: Mapping[str, JsonValue]) -> JsonObject:
    """A copy of an object with its keys in order, for output that people read."""
    return {key: value[key] for key in sorted(value)}
