"""From a signature to a schema: which parameters there are, and which are refused."""

# ruff: noqa: B008, RUF013

from __future__ import annotations

import dataclasses
import enum
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial, wraps
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import AliasChoices, BaseModel, Field, SecretStr, field_validator
from typing_extensions import TypeAliasType

from salvor.errors import ToolDefinitionError
from salvor.tools import context as renamed
from salvor.tools.context import INJECTED, Context, Depends
from salvor.tools.contract import ToolMeta
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
from salvor.tools.signature import read_parameters

READ = ToolMeta(effect="read", description="It does.")


class Style(enum.Enum):
    DOT = "dot"
    LINE = "line"


class Point(BaseModel):
    """A place."""

    x: int
    y: int = 0


class Node(BaseModel):
    label: str
    kids: list[Node] = []


@dataclasses.dataclass
class Size:
    width: int
    height: int = 1


class Conn:
    """A connection, which is no JSON."""


def built(function: Any, meta: ToolMeta = READ) -> FunctionTool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return function_tool(function, meta=meta)


def properties(function: Any) -> dict[str, Any]:
    found: Any = built(function).input_schema["properties"]
    return dict(found)


def refused(function: Any, meta: ToolMeta = READ) -> ToolDefinitionError:
    with pytest.raises(ToolDefinitionError) as caught:
        built(function, meta)
    return caught.value


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
    assert found["raw"] == {"type": "string", "contentEncoding": "base64", "default": "aGk="}


def test_a_default_that_is_no_json_is_left_out_and_never_shown_as_text() -> None:
    missing = object()

    def find(name: str = missing, lock: int = Conn()) -> None: ...  # type: ignore[assignment]

    assert properties(find) == {"name": {"type": "string"}, "lock": {"type": "integer"}}


def test_a_models_default_that_is_no_json_is_left_out_without_noise() -> None:
    class Odd(BaseModel):
        x: int = Field(default=Conn())

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


def test_positional_only_parameters_are_called_by_position() -> None:
    def power(base: int, /, exp: int = 2) -> int:
        return int(base**exp)

    found = built(power)
    args, kwargs = found.arguments(found.prepare({"base": 3}).values, NO_CONTEXT, {})

    assert found.input_schema["required"] == ["base"]
    assert power(*args, **kwargs) == 9


NO_CONTEXT: Any = None


def test_a_gap_among_positional_only_parameters_is_filled_by_the_default() -> None:
    def take(a: int, b: int = 7, c: int = 8, /, *, d: int = 9) -> list[int]:
        return [a, b, c, d]

    found = built(take)

    def call(**raw: Any) -> list[int]:
        args, kwargs = found.arguments(found.prepare(raw).values, NO_CONTEXT, {})
        return take(*args, **kwargs)

    assert call(a=1) == [1, 7, 8, 9]
    assert call(a=1, c=3, d=4) == [1, 7, 3, 4]


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


@pytest.mark.parametrize("position", ["first", "last", "keyword", "positional"])
def test_the_context_is_found_by_type_at_any_position(position: str) -> None:
    def first(ctx: Context, sql: str) -> None: ...
    def last(sql: str, other: renamed.Context | None = None) -> None: ...
    def keyword(sql: str, *, ctx: Context = INJECTED) -> None: ...
    def positional(ctx: Annotated[Context, "mine"], /, sql: str) -> None: ...

    function: Any = locals()[position]
    found = built(function)
    args, kwargs = found.arguments({"sql": "x"}, NO_CONTEXT, {})

    assert list(found.input_schema["properties"]) == ["sql"]  # type: ignore[arg-type]
    assert (args + tuple(kwargs.values())).count(None) == 1


def test_a_caller_cannot_hand_in_the_context_or_a_dependency() -> None:
    def query(sql: str, ctx: Context, db: Conn = Depends(Conn)) -> None: ...

    found = built(query)
    with pytest.raises(Exception, match=r"/ctx: expected no argument .*/db: expected no argument"):
        found.prepare({"sql": "x", "ctx": 1, "db": 2})


def test_dependencies_are_delivered_by_name() -> None:
    def query(
        sql: str, db: Conn = Depends(Conn), *, cache: Annotated[Conn, Depends(Conn)]
    ) -> None: ...

    found = built(query)

    assert sorted(found.dependencies) == ["cache", "db"]
    assert found.dependencies["db"].dependency is Conn
    assert found.arguments({"sql": "x"}, NO_CONTEXT, {"db": 1, "cache": 2})[1] == {
        "sql": "x",
        "db": 1,
        "cache": 2,
    }


def test_a_dependency_that_takes_arguments_is_refused() -> None:
    def get_db(url: str) -> Conn:
        return Conn()

    def query(db: Conn = Depends(get_db)) -> None: ...

    assert "takes 'url'" in refused(query).reason


def test_injected_stands_for_a_context_only() -> None:
    def query(db: Point = INJECTED) -> None: ...

    assert refused(query).parameter == "db"


def test_types_of_the_enclosing_function_are_found() -> None:
    class Local(BaseModel):
        a: int

    @tool(effect="read")
    def take(one: Local, many: list[Local]) -> Local:
        """Take."""
        return one

    found = built(take, None)  # type: ignore[arg-type]

    assert found.input_schema["$defs"]
    assert found.output_schema


def test_types_around_a_class_are_found() -> None:
    class Local(BaseModel):
        a: int

    class Desk:
        @tool(effect="read")
        def take(self, one: Local) -> None:
            """Take."""

    assert built(Desk().take, None).input_schema["$defs"]  # type: ignore[arg-type]


def test_a_closure_names_types_too() -> None:
    class Local(BaseModel):
        a: int

    def take(one: Local) -> None:
        Local(a=1)

    assert built(take).input_schema["$defs"]


def test_a_name_that_is_not_defined_is_refused_with_its_parameter() -> None:
    def take(one: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    error = refused(take)

    assert error.parameter == "one"
    assert "'Nowhere'" in error.reason


def test_an_annotation_that_is_no_type_is_refused() -> None:
    def take(one: 1 / 0) -> None: ...  # type: ignore[valid-type]

    assert refused(take).parameter == "one"


def test_a_type_without_json_is_refused_alone_with_its_parameter() -> None:
    def run(sql: str, conn: Conn) -> None: ...
    def call(back: Callable[[int], str] | None = None) -> None: ...

    assert refused(run).parameter == "conn"
    assert "Conn" in refused(run).reason
    assert "Depends" in str(refused(run).hint)
    assert refused(call).parameter == "back"


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        (SecretStr, "SecretStr"),
        (list[SecretStr], "SecretStr"),
        (dict[str, SecretStr | None], "SecretStr"),
        (Iterable[int], "Iterable"),
    ],
)
def test_what_cannot_cross_is_refused(annotation: Any, reason: str) -> None:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = annotation

    assert reason in refused(take).reason
    assert refused(take).parameter == "value"


def test_what_cannot_cross_is_found_inside_models() -> None:
    class Login(BaseModel):
        password: SecretStr

    class Choice(BaseModel):
        name: str = Field(validation_alias=AliasChoices("name", "title"))

    class TwoNames(BaseModel):
        name: str = Field(serialization_alias="title")

    @dataclasses.dataclass
    class Nested:
        login: Login

    def take(value: Any) -> None: ...

    for annotation in (Login, list[Choice], TwoNames | None, Nested):
        take.__annotations__["value"] = annotation
        assert refused(take).parameter == "value"


def test_alias_choices_on_a_parameter_are_refused() -> None:
    def take(value: Annotated[str, Field(validation_alias=AliasChoices("a", "b"))]) -> None: ...

    assert "AliasChoices" in refused(take).reason


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


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (Point, "the class Point"),
        (partial(len, []), "a partial"),
        (len, "a builtin_function_or_method"),
        (Conn(), "a Conn"),
        (3, "a int"),
    ],
)
def test_what_is_no_function_is_refused(thing: Any, reason: str) -> None:
    assert reason in refused(thing).reason


def test_an_unbound_method_is_refused_with_what_to_do() -> None:
    class Desk:
        def find(self, name: str) -> None: ...

    assert refused(Desk.find).parameter == "self"
    assert "registry.add" in str(refused(Desk.find).hint)


def test_methods_never_show_what_they_are_bound_to() -> None:
    class Desk:
        def find(self, name: str) -> None: ...
        @classmethod
        def make(cls, name: str) -> None: ...
        @staticmethod
        def tell(name: str) -> None: ...

    for method in (Desk().find, Desk().make, Desk.make, Desk.tell):
        assert list(properties(method)) == ["name"]


def test_what_the_decorator_leaves_is_refused_when_registering() -> None:
    class Desk:
        def several(self, *rest: int) -> None: ...
        def untyped(self, a) -> None: ...  # type: ignore[no-untyped-def]
        def generator(self) -> Iterable[int]:
            yield 1

    assert refused(Desk().several).parameter == "rest"
    assert refused(Desk().untyped).parameter == "a"
    assert "generator" in refused(Desk().generator).reason


def test_a_wrapper_has_the_signature_of_what_it_wraps() -> None:
    def inner(name: str, ctx: Context) -> int: ...  # type: ignore[empty-body]

    @wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    assert list(properties(wrapper)) == ["name"]
    assert built(wrapper).output_schema == {"type": "integer"}


def test_an_alias_of_a_type_is_looked_through() -> None:
    secret = TypeAliasType("secret", list[SecretStr])
    whole = TypeAliasType("whole", int)

    def take(value: Any) -> None: ...

    take.__annotations__["value"] = secret
    assert "SecretStr" in refused(take).reason
    take.__annotations__["value"] = whole
    assert built(take).prepare({"value": "5"}).arguments == {"value": 5}


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


def test_a_pattern_that_the_checker_cannot_match_is_refused() -> None:
    def take(value: Annotated[str, Field(json_schema_extra={"pattern": "(?=a)"})]) -> None: ...

    assert "cannot be used" in refused(take).reason


def test_what_the_model_says_of_a_field_that_its_function_fills() -> None:
    def take(value: int = 3) -> None: ...

    field = built(take).input.model.model_fields["value"]

    assert repr(field.default) == "<left to the function>"


def test_a_variable_that_is_assigned_later_does_not_matter() -> None:
    def take(value: int) -> None:
        print(later)

    found = built(take)
    later = 1

    assert found.prepare({"value": later}).values == {"value": 1}


def test_a_nullable_literal_needs_no_widening() -> None:
    def take(value: Literal["a", None] = None) -> None: ...

    assert properties(take)["value"]["enum"] == ["a", None]


def test_a_stated_signature_is_honoured() -> None:
    def inner(db: Conn, name: str) -> None: ...

    @wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    import inspect

    signature = inspect.signature(inner)
    wrapper.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=list(signature.parameters.values())[1:]
    )

    assert list(properties(wrapper)) == ["name"]


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


def test_a_workflow_is_read_without_its_first_parameter() -> None:
    def settle(run: Conn, claims: list[str], /, limit: int = 3) -> None:
        """Settle.

        Args:
            claims: Which.
        """

    model = read_parameters(settle, skip_first=True, owner="settle")
    prepared = model.prepare({"claims": ["a"]})

    assert list(model.names) == ["claims", "limit"]
    assert model.schema["properties"]["claims"]["description"] == "Which."  # type: ignore[index,call-overload]
    assert model.arguments(prepared.values) == ((["a"],), {})


def test_a_workflow_parameter_that_cannot_be_described_is_named_with_its_place() -> None:
    def settle(run: Conn, conn: Conn) -> None: ...

    with pytest.raises(ToolDefinitionError) as caught:
        read_parameters(settle, skip_first=True, owner="settle")

    assert caught.value.parameter == "conn"
    assert str(caught.value.where).startswith(f"{__file__}:")
