"""From parameters to the published schema: types, names, defaults, descriptions."""

# ruff: noqa: B008, RUF013

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Optional, cast

from pydantic import BaseModel, Field, field_validator

from salvor.tools.contract import ToolMeta
from tests.support.described import Conn, Node, Point, Size, Style, built, properties, refused

NO_CONTEXT: Any = None


def test_ordinary_types_have_ordinary_schemas() -> None:
    def every(
        text: str,
        whole: int,
        number: float,
        flag: bool,
        nothing: None,
        items: list[int],
        table: dict[str, float],
        level: Literal["low", "high"],
        style: Style,
        when: datetime,
        where: Point,
        size: Size,
        maybe: int | None,
    ) -> None: ...

    assert built(every).input_schema == {
        "type": "object",
        "additionalProperties": False,
        "required": [
            *("text", "whole", "number", "flag", "nothing", "items", "table"),
            *("level", "style", "when", "where", "size", "maybe"),
        ],
        "properties": {
            "text": {"type": "string"},
            "whole": {"type": "integer"},
            "number": {"type": "number"},
            "flag": {"type": "boolean"},
            "nothing": {"type": "null"},
            "items": {"type": "array", "items": {"type": "integer"}},
            "table": {"type": "object", "additionalProperties": {"type": "number"}},
            "level": {"type": "string", "enum": ["low", "high"]},
            "style": {"$ref": "#/$defs/Style"},
            "when": {"type": "string", "format": "date-time"},
            "where": {"$ref": "#/$defs/Point"},
            "size": {"$ref": "#/$defs/Size"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "$defs": {
            "Style": {"type": "string", "enum": ["dot", "line"]},
            "Point": {
                "type": "object",
                "description": "A place.",
                "additionalProperties": False,
                "required": ["x"],
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "integer", "default": 0},
                },
            },
            "Size": {
                "type": "object",
                "additionalProperties": False,
                "required": ["width"],
                "properties": {
                    "width": {"type": "integer"},
                    "height": {"type": "integer", "default": 1},
                },
            },
        },
    }


def test_a_tool_without_arguments_has_a_closed_empty_object() -> None:
    def ping() -> None: ...

    assert built(ping).input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_defaults_are_published_as_json() -> None:
    def draw(
        style: Style = Style.DOT,
        places: list[Point] = [Point(x=1)],  # noqa: B006
        words: frozenset[str] = frozenset({"b", "a"}),
        raw: bytes = b"hi",
    ) -> None: ...

    found = properties(draw)

    assert found["style"] == {"$ref": "#/$defs/Style", "default": "dot"}
    assert found["places"]["default"] == [{"x": 1}]
    assert found["words"]["default"] == ["a", "b"]
    assert found["raw"]["contentEncoding"] == "base64"
    assert found["raw"]["default"] == "aGk="


def test_a_default_that_is_no_json_is_left_out_and_never_shown_as_text() -> None:
    missing = object()

    def find(name: str = missing, lock: int = Conn()) -> None: ...  # type: ignore[assignment]

    assert properties(find) == {"name": {"type": "string"}, "lock": {"type": "integer"}}


def test_a_models_default_that_is_no_json_is_left_out_without_noise() -> None:
    class Odd(BaseModel):
        x: int = Field(default=cast("int", Conn()))

    def take(value: Any) -> None: ...

    take.__annotations__["value"] = Odd
    schema: Any = built(take).input_schema

    assert schema["$defs"]["Odd"]["properties"] == {"x": {"type": "integer"}}


def test_a_default_that_the_type_refuses_is_not_advertised() -> None:
    def find(
        limit: int = "5",  # type: ignore[assignment]
        when: datetime = datetime(2026, 1, 1),  # noqa: DTZ001
        size: Annotated[int, Field(ge=1)] = 0,
        page: int = 1,
    ) -> None: ...

    shown = {name: found.get("default") for name, found in properties(find).items()}

    assert shown == {"limit": None, "when": None, "size": None, "page": 1}


def test_a_default_is_never_compared() -> None:
    class Array:
        def __eq__(self, other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

        def __deepcopy__(self, memo: object) -> None:
            raise TypeError("cannot be copied")

    def mean(values: list[float] = Array()) -> None: ...  # type: ignore[assignment]

    found = built(mean)

    assert found.prepare({}).values == {}


def test_none_as_a_default_makes_the_type_nullable() -> None:
    def ls(
        project: str = None,  # type: ignore[assignment]
        size: Annotated[int, Field(ge=2, description="How big.")] = None,  # type: ignore[assignment]
        either: Optional[str] = None,  # noqa: UP045
        anything: Any = None,
    ) -> None: ...

    found = properties(ls)

    assert found["project"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
    assert found["size"]["anyOf"] == [{"type": "integer", "minimum": 2}, {"type": "null"}]
    assert found["size"]["description"] == "How big."
    assert found["either"]["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert found["anything"] == {"default": None}
    assert built(ls).prepare({"project": None, "size": None}).arguments == {
        "project": None,
        "size": None,
    }


def test_optional_without_a_default_is_required() -> None:
    def find(name: str | None) -> None: ...

    assert built(find).input_schema["required"] == ["name"]


HOSTILE = [
    *("schema", "copy", "json", "dict", "validate", "model_dump", "model_config", "model_fields"),
    *("construct", "_x", "__y", "self", "cls", "title", "type", "properties", "required", "args"),
    *("kwargs", "config", "callbacks", "name", "info", "fields", "model_", "_", "copy_"),
]


def test_no_parameter_name_clashes_with_pydantic() -> None:
    parameters = ", ".join(f"{name}: int" for name in HOSTILE)
    space: dict[str, Any] = {}
    exec(f"def hostile({parameters}) -> None: ...\ndef taken(**got): return got", space)
    raw = {name: index for index, name in enumerate(HOSTILE)}

    found = built(space["hostile"])
    prepared = found.prepare(dict(raw))
    _, kwargs = found.arguments(prepared.values, NO_CONTEXT, {})

    assert list(found.input_schema["properties"]) == HOSTILE  # type: ignore[arg-type]
    assert kwargs == raw
    assert found.bind((), dict(raw)) == raw


def test_the_model_keeps_ordinary_names() -> None:
    def find(name: str, copy: bool) -> None: ...

    assert list(built(find).input.model.model_fields) == ["name", "copy_"]


def test_a_title_is_kept_where_its_author_wrote_it() -> None:
    def find(name: Annotated[str, Field(title="Given name")], title: int) -> None: ...

    assert properties(find) == {
        "name": {"type": "string", "title": "Given name"},
        "title": {"type": "integer"},
    }


def test_descriptions_come_from_field_then_text_then_docstring() -> None:
    def find(
        a: Annotated[int, Field(description="field a"), "text a"],
        b: Annotated[int, "text b"],
        c: int,
        d: int = Field(default=1, description="field d"),
        e: int = 2,
    ) -> None:
        """Find.

        Args:
            a: doc a
            b: doc b
            c: doc c
            d: doc d
            stale: never seen
        """

    shown = {name: found.get("description") for name, found in properties(find).items()}

    assert shown == {"a": "field a", "b": "text b", "c": "doc c", "d": "field d", "e": None}
    assert built(find, ToolMeta(effect="read")).description == "Find."


def test_field_as_a_default_acts_as_what_it_states() -> None:
    def count(
        items: list[str] = Field(default_factory=list, description="things"),
        size: int = Field(default=7),
        name: str = Field(min_length=2),
    ) -> int:
        items.append("x")
        return len(items)

    found = built(count)

    def call() -> int:
        args, kwargs = found.arguments(found.prepare({"name": "ab"}).values, NO_CONTEXT, {})
        assert kwargs["size"] == 7
        return count(*args, **kwargs)

    assert [call(), call()] == [1, 1]
    assert found.input_schema["required"] == ["name"]
    assert properties(count)["items"]["description"] == "things"
    assert found.prepare({"name": "ab"}).arguments == {"name": "ab"}


def test_a_factory_in_the_annotation_makes_a_parameter_optional() -> None:
    def count(items: Annotated[list[str], Field(default_factory=list)]) -> None: ...

    assert built(count).prepare({}).values == {"items": []}


def test_an_alias_is_the_name_in_json_only() -> None:
    def move(
        origin: Annotated[str, Field(alias="from")], copy: str = Field(alias="as")
    ) -> None: ...

    found = built(move)

    assert list(found.input_schema["properties"]) == ["from", "as"]  # type: ignore[arg-type]
    assert found.prepare({"from": "a", "as": "b"}).values == {"origin": "a", "copy": "b"}
    assert found.bind(("a",), {"copy": "b"}) == {"from": "a", "as": "b"}


def test_two_parameters_of_one_alias_are_refused() -> None:
    def move(a: Annotated[str, Field(alias="b")], b: str) -> None: ...

    assert "is called 'b' in JSON" in refused(move).reason


def test_a_recursive_model_ends_and_keeps_its_definitions() -> None:
    def walk(root: Node) -> None: ...

    schema: Any = built(walk).input_schema

    assert schema["type"] == "object"
    assert schema["$defs"]["Node"]["properties"]["kids"]["items"] == {"$ref": "#/$defs/Node"}


def test_a_union_keeps_both_arms_in_order() -> None:
    def put(data: dict[str, int] | list[int]) -> None: ...

    assert [arm["type"] for arm in properties(put)["data"]["anyOf"]] == ["object", "array"]
    assert built(put).prepare({"data": {"a": 1}}).values == {"data": {"a": 1}}
    assert built(put).prepare({"data": [1]}).values == {"data": [1]}


def test_a_default_that_makes_the_authors_check_raise_is_not_advertised() -> None:
    class Odd(BaseModel):
        x: int

        @field_validator("x")
        @classmethod
        def check(cls, value: int) -> int:
            return 1 // value

    odd = Odd.model_construct(_fields_set={"x"}, x=0)

    def take(value: Any = odd) -> None: ...

    take.__annotations__["value"] = Odd
    assert "default" not in properties(take)["value"]


def test_what_the_model_says_of_a_field_that_its_function_fills() -> None:
    def take(value: int = 3) -> None: ...

    field = built(take).input.model.model_fields["value"]

    assert repr(field.default) == "<left to the function>"


def test_a_nullable_literal_needs_no_widening() -> None:
    def take(value: Literal["a", None] = None) -> None: ...

    assert properties(take)["value"]["enum"] == ["a", None]


def test_the_schema_is_the_same_in_every_process() -> None:
    import subprocess
    import sys

    script = (
        "import enum\n"
        "from salvor.tools.decorator import tool\n"
        "from salvor.tools.function import function_tool\n"
        "class E(enum.Enum): A = 'a'; B = 'b'\n"
        "@tool(effect='read')\n"
        "def f(a: set[str] = {'x', 'y', 'z'}, e: E = E.A, o: str = object()) -> set[int]:\n"
        "    '''F.'''\n"
        "print(function_tool(f).digest)\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }

    assert len(found) == 1
