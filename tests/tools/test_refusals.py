"""Every refusal names file, line, function, parameter, and what to do instead."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, SecretStr
from typing_extensions import TypedDict, Unpack

from salvor.tools.context import INJECTED, Depends
from salvor.tools.contract import ToolMeta
from tests.support.described import READ, Conn, refused

FACTORIES: list[Any] = []


def case(*, parameter: str | None, hint: str, meta: ToolMeta = READ) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        FACTORIES.append(pytest.param(function, parameter, hint, meta, id=function.__name__))
        return function

    return keep


class Login(BaseModel):
    user: str
    password: SecretStr


class Lookup(BaseModel):
    where: int = Field(validation_alias=AliasPath("a", 0))


class Renamed(BaseModel):
    size: int = Field(validation_alias="in", serialization_alias="out")


class Options(TypedDict):
    token: SecretStr


@case(parameter="rest", hint="a list parameter")
def many(*rest: int) -> None: ...


@case(parameter="rest", hint="Unpack[")
def named(**rest: int) -> None: ...


@case(parameter="plain", hint="Write its type")
def untyped(plain) -> None: ...  # type: ignore[no-untyped-def]


@case(parameter=None, hint="Return a list")
def generator() -> Iterator[int]:
    yield 1


@case(parameter=None, hint="Return a list")
async def async_generator() -> AsyncIterator[int]:
    yield 1


@case(parameter="conn", hint="Depends")
def undescribed(conn: Conn) -> None: ...


@case(parameter="conns", hint="Depends")
def undescribed_inside(a: int, conns: list[Conn | None]) -> None: ...


@case(parameter="call", hint="Depends")
def function_typed(call: Callable[[int], int]) -> None: ...


@case(parameter="secret", hint="Depends")
def secret(secret: SecretStr) -> None: ...


@case(parameter="login", hint="Depends")
def secret_inside(login: dict[str, list[Login]]) -> None: ...


@case(parameter="token", hint="Depends")
def secret_unpacked(**options: Unpack[Options]) -> None: ...


@case(parameter="path", hint="one plain alias")
def alias_path(path: Annotated[int, Field(validation_alias=AliasPath("a", 0))]) -> None: ...


@case(parameter="path", hint="one plain alias")
def alias_choices(path: int = Field(validation_alias=AliasChoices("a", "b"))) -> None: ...


@case(parameter="lookup", hint="one plain alias")
def alias_inside(lookup: Lookup) -> None: ...


@case(parameter="renamed", hint="one alias for both ways")
def alias_of_two(renamed: Renamed) -> None: ...


@case(parameter="items", hint="list[...]")
def lazy(items: Iterable[int]) -> None: ...


@case(parameter="thing", hint="Define or import")
def unknown(thing: Missing) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@case(parameter="thing", hint="Use a type")
def no_type(thing: 3) -> None: ...  # type: ignore[valid-type]


@case(parameter="db", hint="Annotate it")
def marker(db: int = INJECTED) -> None: ...


@case(parameter="db", hint="Context.current()")
def dependency(db: Conn = Depends(lambda url: url)) -> None: ...  # noqa: B008


@case(
    parameter=None,
    hint="required parameters are: a",
    meta=ToolMeta(effect="write", idempotency_key="b", description="It does."),
)
def keyed(a: int, b: int = 1) -> None: ...


@case(
    parameter=None,
    hint="Drop the key",
    meta=ToolMeta(effect="read", idempotency_key="a", description="It does."),
)
def keyed_read(a: int) -> None: ...


@case(parameter=None, hint="docstring", meta=ToolMeta(effect="read"))
def undocumented() -> None: ...


@case(parameter=None, hint="Depends")
def returns() -> Conn: ...  # type: ignore[empty-body]


@case(parameter="self", hint="registry.add(TheClass())")
def unbound() -> Any:
    class Desk:
        def find(self, a: int) -> None: ...

    return Desk.find


@case(parameter="b", hint="Depends")
def bound() -> Any:
    class Desk:
        def find(self, a: int, b: Conn) -> None: ...

    return Desk().find


@case(parameter=None, hint="Wrap it")
def a_class() -> Any:
    class Desk:
        def find(self, a: int) -> None: ...

    return Desk


@case(parameter=None, hint="name=")
def nameless() -> Any:
    return lambda: None


@case(parameter=None, hint="name=")
def nameless_partial() -> Any:
    return partial(undescribed, Conn())


@pytest.mark.parametrize(("function", "parameter", "hint", "meta"), FACTORIES)
def test_a_refusal_says_where_what_and_what_to_do(
    function: Any, parameter: str | None, hint: str, meta: ToolMeta
) -> None:
    made = function() if function.__annotations__.get("return") == "Any" else function
    error = refused(made, meta)

    assert str(error.where).startswith(f"{__file__}:")
    line = int(str(error.where).split(":")[1].split()[0])
    assert line >= 1
    lines, first = inspect.getsourcelines(function)
    assert first - 1 <= line < first + len(lines) or made.__class__ is partial
    assert error.parameter == parameter
    assert hint in str(error.hint), error.hint
    assert str(error).startswith(str(error.where))
