"""Bytes, in arguments and results of every shape: standard base64, as the schema says."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

from salvor.errors import OutputRefused
from salvor.tools.check import SchemaCheck
from salvor.tools.schema import ValueType
from tests.support.taking import taking

DATA = b"\xfb\xef\xff\xfe"  # "++///g==", and "--___g==" in the other alphabet
TEXT = "++///g=="


class Coded(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    data: bytes
    more: list[bytes] = []


class Around(BaseModel):
    inner: Coded


@dataclasses.dataclass
class Plain:
    data: bytes


class Pair(NamedTuple):
    one: bytes
    two: bytes


class Keyed(TypedDict):
    data: bytes


SHAPES: list[tuple[Any, Any, Any]] = [
    (bytes, DATA, TEXT),
    (list[bytes], [DATA], [TEXT]),
    (set[bytes], {DATA}, [TEXT]),
    (dict[str, bytes], {"a": DATA}, {"a": TEXT}),
    (dict[bytes, int], {DATA: 1}, {TEXT: 1}),
    (tuple[bytes, int], (DATA, 1), [TEXT, 1]),
    (bytes | None, DATA, TEXT),
    (bytes | int, 5, 5),
    (int | bytes, DATA, TEXT),
    (Keyed, {"data": DATA}, {"data": TEXT}),
    (list[Keyed], [{"data": DATA}], [{"data": TEXT}]),
    (Plain, Plain(DATA), {"data": TEXT}),
    (Plain | None, Plain(DATA), {"data": TEXT}),
    (Pair, Pair(DATA, DATA), [TEXT, TEXT]),
    (Coded, Coded(data=DATA, more=[DATA]), {"data": TEXT, "more": [TEXT]}),
    (Around, Around(inner=Coded(data=DATA, more=[])), {"inner": {"data": TEXT, "more": []}}),
    (list[Coded], [Coded(data=DATA, more=[DATA])], [{"data": TEXT, "more": [TEXT]}]),
]


@pytest.mark.parametrize(("annotation", "value", "text"), SHAPES, ids=[str(s[0]) for s in SHAPES])
def test_bytes_are_standard_base64_both_ways(annotation: Any, value: Any, text: Any) -> None:
    tool = taking(annotation)
    output = ValueType(annotation, where="x")
    assert output.schema is not None

    assert tool.bind((value,), {}) == {"value": text}
    assert tool.prepare({"value": text}).values == {"value": value}
    assert output.encode(value) == text
    assert output.decode(text) == value
    assert SchemaCheck(output.schema).is_valid(text)


def test_what_was_recorded_in_the_other_alphabet_is_still_read() -> None:
    assert ValueType(bytes, where="x").decode("--___g==") == DATA


@pytest.mark.parametrize("value", ["text", 5, None, [DATA]])
def test_what_is_no_bytes_is_refused_as_a_result(value: Any) -> None:
    with pytest.raises(OutputRefused, match=r"bytes|base64"):
        ValueType(bytes, where="x").encode(value)
