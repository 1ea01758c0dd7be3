"""Every form of function that can be a tool, and what its arguments become."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from functools import partial, partialmethod, update_wrapper, wraps
from typing import Any

import pytest

from salvor.errors import ArgumentsRefused
from salvor.registry.registry import Registry
from salvor.tools.contract import ToolMeta
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
from salvor.values import JsonObject
from tests.support.described import Style, built, properties, refused

NAMED = ToolMeta(effect="read", name="greet", description="It does.")
NO_CONTEXT: Any = None


def greet(greeting: str, name: str, *, loud: bool = False) -> str:
    """Greet somebody.

    Args:
        greeting: How.
        name: Whom.
    """
    return f"{greeting} {name}{'!' if loud else ''}"


def called(found: FunctionTool, raw: JsonObject) -> Any:
    args, kwargs = found.arguments(found.prepare(raw).values, NO_CONTEXT, {})
    return found.fn(*args, **kwargs)


class Greeter:
    """Greets."""

    def __init__(self, greeting: str) -> None:
        self.greeting = greeting

    def __call__(self, name: str) -> str:
        """Greet somebody."""
        return f"{self.greeting} {name}"


class LaterGreeter:
    async def __call__(self, name: str) -> str:
        """Greet somebody, later."""
        return name


def test_what_a_partial_binds_is_no_callers_to_say() -> None:
    by_position = built(partial(greet, "hi"), NAMED)
    by_name = built(partial(greet, name="Bo"), NAMED)

    assert list(by_position.input_schema["properties"]) == ["name", "loud"]  # type: ignore[arg-type]
    assert called(by_position, {"name": "Al"}) == "hi Al"
    assert list(by_name.input_schema["properties"]) == ["greeting", "loud"]  # type: ignore[arg-type]
    assert called(by_name, {"greeting": "yo", "loud": True}) == "yo Bo!"
    with pytest.raises(ArgumentsRefused, match="/name: expected no argument of that name"):
        by_name.prepare({"greeting": "yo", "name": "Eve"})


def test_partials_of_partials_and_of_methods_are_looked_through() -> None:
    twice = partial(partial(greet, "hi"), loud=True)

    assert list(properties_named(twice)) == ["name"]
    assert list(properties_named(partial(Greeter("hi").__call__))) == ["name"]


def properties_named(function: Any) -> dict[str, Any]:
    found: Any = built(function, NAMED).input_schema["properties"]
    return dict(found)


def test_a_partial_that_poses_as_its_function_still_binds() -> None:
    posing = update_wrapper(partial(greet, name="Bo"), greet)
    found = built(posing)

    assert found.name == "greet"
    assert list(found.input_schema["properties"]) == ["greeting", "loud"]  # type: ignore[arg-type]


def test_a_partial_can_be_decorated_and_says_what_it_binds_says() -> None:
    decorated = tool(effect="read", name="hello")(partial(greet, "hi"))
    (found,) = Registry().add(decorated)

    assert (found.name, found.description) == ("hello", "Greet somebody.")
    assert found.input_schema["properties"]["name"]["description"] == "Whom."  # type: ignore[index,call-overload]
    assert found.lint == ()
    assert found.origin.startswith(f"{__file__}:") and found.origin.endswith(" greet")


def test_a_callable_object_is_called() -> None:
    found = built(Greeter("hi"), NAMED)

    assert called(found, {"name": "Al"}) == "hi Al"
    assert not found.is_async
    assert found.origin.endswith(" Greeter.__call__")
    assert found.output_schema == {"type": "string"}


def test_a_callable_object_may_be_async() -> None:
    assert built(LaterGreeter(), NAMED).is_async
    assert built(partial(LaterGreeter().__call__), NAMED).is_async


@pytest.mark.parametrize("thing", [Greeter("hi"), partial(greet, "hi"), lambda: None])
def test_what_has_no_name_needs_one(thing: Any) -> None:
    error = refused(thing)

    assert "has no name" in error.reason
    assert "name=" in str(error.hint)


def test_a_partial_method_is_a_method_that_needs_a_name() -> None:
    class Desk:
        def find(self, kind: str, name: str) -> str:
            return f"{kind} {name}"

        find_cat = partialmethod(find, "cat")

    assert called(built(Desk().find_cat, NAMED), {"name": "Tom"}) == "cat Tom"


def test_methods_of_a_class_are_called_with_what_they_belong_to() -> None:
    class Desk:
        @tool(effect="read")
        @classmethod
        def make(cls, name: str) -> str:
            """Make."""
            return f"{cls.__name__} {name}"

        @staticmethod
        @tool(effect="read")
        def tell(name: str) -> str:
            """Tell."""
            return name

        @classmethod
        @tool(effect="read")
        def fetch(cls, name: str) -> str:
            """Fetch."""
            return f"{cls.__name__} {name}"

    assert called(function_tool(Desk.make), {"name": "x"}) == "Desk x"
    assert called(function_tool(Desk().fetch), {"name": "x"}) == "Desk x"
    assert called(function_tool(Desk.tell), {"name": "x"}) == "x"


def test_an_unbound_method_is_refused_also_where_self_has_a_type() -> None:
    class Desk:
        def find(self: Any, name: str) -> None: ...

    assert refused(Desk.find).parameter == "self"


def test_a_function_may_call_a_parameter_self() -> None:
    def find(self: int, cls: int) -> int:
        return self + cls

    assert called(built(find), {"self": 1, "cls": 2}) == 3


def test_a_cached_function_is_read_as_what_it_wraps() -> None:
    assert list(properties(functools.lru_cache(greet))) == ["greeting", "name", "loud"]


def test_a_decorator_that_is_a_class_is_read_as_what_it_wraps() -> None:
    class Counted:
        def __init__(self, function: Callable[..., Any]) -> None:
            update_wrapper(self, function)
            self.function = function
            self.calls = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return self.function(*args, **kwargs)

    counted = Counted(greet)
    found = built(counted)

    assert (found.name, called(found, {"greeting": "hi", "name": "Al"})) == ("greet", "hi Al")
    assert counted.calls == 1


def made_elsewhere(function: Any, extra: str | None = None) -> Any:
    """A decorator of another module: its wrapper states a signature with the texts it found."""
    scope: dict[str, Any] = {"__name__": "elsewhere", "wraps": wraps, "inspect": inspect}
    exec(
        "class Here: ...\n"
        "def decorate(function, annotation):\n"
        "    @wraps(function)\n"
        "    def wrapper(*args, **kwargs):\n"
        "        return function(*args, **kwargs)\n"
        "    old = inspect.signature(function)\n"
        "    kept = [p for p in old.parameters.values() if p.name != 'conn']\n"
        "    if annotation:\n"
        "        kept.append(inspect.Parameter('more', 3, annotation=annotation))\n"
        "    wrapper.__signature__ = old.replace(parameters=kept)\n"
        "    return wrapper\n"
        "Count = int\n",
        scope,
    )
    return scope["decorate"](function, extra)


def test_a_stated_signature_is_resolved_where_its_texts_were_written() -> None:
    def paint(conn: Conn, style: Style) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert list(properties(made_elsewhere(paint))) == ["style"]


def test_what_a_wrapper_adds_is_resolved_where_the_wrapper_stands() -> None:
    def paint(style: Style) -> None: ...

    found = properties(made_elsewhere(paint, "Count"))

    assert found["more"] == {"type": "integer"}
    assert "style" in found


def test_a_signature_counts_and_changed_annotations_do_not() -> None:
    def inner(name: str) -> None: ...

    @wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any: ...

    wrapper.__annotations__ = {"name": int}

    assert properties(wrapper)["name"] == {"type": "string"}


def test_a_synchronous_wrapper_of_an_async_function_is_taken() -> None:
    async def inner(name: str) -> str:
        return name

    @wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    found = built(wrapper)
    coroutine = called(found, {"name": "x"})

    assert inspect.iscoroutine(coroutine)
    coroutine.close()
    assert found.output_schema == {"type": "string"}


if sys.version_info >= (3, 12):  # where the syntax exists, and not as a skip elsewhere

    @pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"])
    def test_the_type_syntax_of_python_3_12_is_read(future: str) -> None:
        scope: dict[str, Any] = {"__name__": "newer"}
        exec(
            future + "type Amount = int\n"
            "type Tree = dict[str, Tree] | Amount\n"
            "type Pair[T] = tuple[T, T]\n"
            "class Box[T]:\n"
            "    pass\n"
            "def count(amount: Amount, tree: Tree, pair: Pair[int]) -> Amount:\n"
            "    return amount\n"
            "def same[T: int](value: T, others: list[T]) -> T:\n"
            "    return value\n",
            scope,
        )
        count, same = built(scope["count"]), built(scope["same"])

        assert called(count, {"amount": 1, "tree": {"a": {"b": 2}}, "pair": [1, 2]}) == 1
        with pytest.raises(ArgumentsRefused, match="/tree/a/b"):
            count.prepare({"amount": 1, "tree": {"a": {"b": "x"}}, "pair": [1, 2]})
        assert called(same, {"value": 1, "others": [2]}) == 1
        with pytest.raises(ArgumentsRefused, match="/value"):
            same.prepare({"value": "x", "others": []})
        assert count.output_schema is not None


def test_what_the_docstring_says_of_no_parameter_is_lint() -> None:
    def find(city: str, limit: int = 5) -> None:
        """Find.

        Args:
            city: Where.
            limits: How many.
            db: The database.
        """

    found = built(find)

    assert found.lint == (
        "The docstring describes 'limits', which is no parameter (did you mean 'limit'?).",
        "The docstring describes 'db', which is no parameter.",
    )
    assert list(found.input_schema["properties"]) == ["city", "limit"]  # type: ignore[arg-type]
