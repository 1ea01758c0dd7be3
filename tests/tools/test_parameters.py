"""Who fills which parameter, and which functions are refused."""

# ruff: noqa: B008

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, wraps
from typing import Annotated, Any

import pytest

from salvor.errors import ToolDefinitionError
from salvor.tools import context as renamed
from salvor.tools.context import INJECTED, Context, Depends
from salvor.tools.signature import read_parameters
from tests.support.described import Conn, Point, built, properties, refused


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


class OwnContext(Context):
    """Somebody's own."""


@pytest.mark.parametrize(
    "annotation", [list[Context], Context | int, dict[str, Context], OwnContext, OwnContext | None]
)
def test_a_context_comes_alone(annotation: Any) -> None:
    def query(sql: str, ctx: Any) -> None: ...

    query.__annotations__["ctx"] = annotation

    assert refused(query).parameter == "ctx"
    assert "a Context comes to a parameter of exactly that type" in refused(query).reason


def test_several_parameters_may_take_the_context() -> None:
    def query(sql: str, ctx: Context, again: Context) -> None: ...

    found = built(query)

    assert list(found.input_schema["properties"]) == ["sql"]  # type: ignore[arg-type]
    assert found.arguments({"sql": "x"}, NO_CONTEXT, {})[1] == {
        "sql": "x",
        "ctx": None,
        "again": None,
    }


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
