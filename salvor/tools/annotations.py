"""Annotations: resolving text to types, and finding types that cannot cross as JSON."""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType, SimpleNamespace
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from salvor.errors import ToolDefinitionError
from salvor.tools.contract import NAMES, inside
from salvor.tools.injection import Dependency, dependency_of

_LAZY = frozenset(
    {"Iterable", "Iterator", "Generator", "AsyncIterable", "AsyncIterator", "AsyncGenerator"}
)
_PLAIN = frozenset({str, int, float, bool, bytes, list, dict, types.NoneType})
_OF_PLAIN = frozenset({list, dict, Union, types.UnionType})
_MARKS = frozenset({"Required", "NotRequired", "ReadOnly"})
_OF_A_CLASS = frozenset({"ClassVar", "Self"})
_SECRET = frozenset({"SecretStr", "SecretBytes", "Secret"})


def resolve(annotation: Any, function: Any) -> Any:
    """The type an annotation means, seen from the function that carries it.

    Raises:
        ToolDefinitionError: when a name in it is not defined, or it is no type.
    """
    if type(annotation) is type or is_plain(annotation):
        return annotation
    at_once = _plain_class(annotation, function)
    if at_once is not None:
        return at_once
    carrier: Any = SimpleNamespace(__annotations__={"it": annotation})
    unknown: NameError | None = None
    try:
        for scope in _scopes(annotation, function):
            seen = getattr(scope, "__globals__", {})
            try:
                return get_type_hints(carrier, seen, _names_in(scope), include_extras=True)["it"]
            except NameError as error:
                unknown = unknown or error
    except Exception as error:  # the text of an annotation can do anything
        raise ToolDefinitionError(
            f"its annotation {annotation!r} cannot be resolved: {error}.", hint="Write a type."
        ) from None
    raise ToolDefinitionError(
        f"its annotation {annotation!r} cannot be resolved: {unknown}.",
        hint="Define or import that type before the function, or at module level.",
    )


def _plain_class(annotation: Any, function: Any) -> type | None:
    """The class that a bare name means in a function that sees only its module, if it is one."""
    if type(annotation) is not str or type(function) is not FunctionType:
        return None
    own = function.__dict__
    if function.__closure__ or NAMES in own or "__wrapped__" in own:
        return None
    if getattr(function, "__type_params__", ()):
        return None
    seen = function.__globals__
    found = seen[annotation] if annotation in seen else vars(builtins).get(annotation)
    return found if type(found) is type else None


def _scopes(annotation: Any, function: Any) -> list[Any]:
    """The functions whose names an annotation may mean, the likeliest first.

    A wrapper that states a signature has made it of what it wraps, as a rule in another module.
    """
    chain = inside(function)
    while len(chain) < 100:
        last = getattr(chain[-1], "__func__", chain[-1])
        inner = getattr(last, "__dict__", {}).get("__wrapped__")
        if inner is None:
            break
        chain.append(inner)
    found = [getattr(item, "__func__", item) for item in chain]
    carriers = [scope for scope in found if _carries(scope, annotation)]
    return [*reversed(carriers), *(scope for scope in found if scope not in carriers)]


def _carries(scope: Any, annotation: Any) -> bool:
    found = getattr(scope, "__annotations__", {}).values()
    return any(item is annotation or (type(item) is str and item == annotation) for item in found)


def local_names(function: Any) -> dict[str, Any]:
    """The names around a function that its annotations may mean, besides its module's."""
    found: dict[str, Any] = {}
    for scope in reversed(inside(function)):
        found = {**_names_in(getattr(scope, "__func__", scope)), **found}
    return found


def _names_in(function: Any) -> dict[str, Any]:
    found: dict[str, Any] = dict(getattr(function, NAMES, {}))
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        try:
            found.setdefault(name, cell.cell_contents)
        except ValueError:  # assigned later, so not a type the signature can mean
            continue
    for parameter in getattr(function, "__type_params__", ()):
        found.setdefault(parameter.__name__, parameter)
    return found


def is_context(annotation: Any) -> bool:
    """Whether a parameter of this type gets the call's `Context`."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    from salvor.tools.context import Context  # which loads logging

    if annotation is Context:
        return True
    arms = [arm for arm in get_args(annotation) if arm is not types.NoneType]
    return is_union(annotation) and arms == [Context]


def dependency_in(annotation: Any) -> Dependency | None:
    """The `Depends` among an annotation's metadata: ``Annotated[DB, Depends(get_db)]``."""
    if get_origin(annotation) is not Annotated:
        return None
    found = (dependency_of(item) for item in get_args(annotation)[1:])
    return next((item for item in found if item is not None), None)


def is_union(annotation: Any) -> bool:
    """Whether a type is ``A | B``, in either spelling."""
    return get_origin(annotation) in (Union, types.UnionType)


def accepts_none(annotation: Any) -> bool:
    """Whether `None` is a value of the type, as far as its outermost shape shows."""
    if get_origin(annotation) is Annotated:
        return accepts_none(get_args(annotation)[0])
    if annotation in (Any, object, None, types.NoneType):
        return True
    if is_union(annotation):
        return any(accepts_none(arm) for arm in get_args(annotation))
    return get_origin(annotation) is typing.Literal and None in get_args(annotation)


def is_plain(annotation: Any) -> bool:
    """Whether a type is made of Python's own plain ones only: there is nothing to find in it."""
    if type(annotation) is type:
        return annotation in _PLAIN
    return get_origin(annotation) in _OF_PLAIN and all(map(is_plain, get_args(annotation)))


def check_crossing(annotation: Any, names: Mapping[str, Any] | None = None) -> None:
    """Refuse types whose values do not survive the way to JSON and back.

    Args:
        annotation: The type, with everything it is made of.
        names: What the texts of its annotations may mean, besides what their modules hold.

    Raises:
        ToolDefinitionError: naming the type and what to use instead.
    """
    if is_plain(annotation):
        return
    from salvor.tools.context import Context  # which loads logging

    _check_placed(annotation)
    for found in _reachable(annotation, set(), dict(names or {})):
        name = getattr(found, "__name__", None) or getattr(found, "_name", "")
        module = getattr(found, "__module__", "")
        if name in _SECRET and module.startswith("pydantic"):
            raise ToolDefinitionError(
                f"{name} cannot be recorded: every argument and result is written to the log.",
                hint="Let the tool fetch the secret itself, through Depends.",
            )
        if isinstance(found, type) and issubclass(found, Context):
            raise ToolDefinitionError(
                "a Context comes to a parameter of exactly that type, and to nothing inside it.",
                hint="Annotate it: ctx: Context.",
            )
        if name in _LAZY and module in ("collections.abc", "typing"):
            raise ToolDefinitionError(
                f"{name} would be checked only while the body reads it.", hint="Use list[...]."
            )


def _check_placed(annotation: Any) -> None:
    """Refuse what means something only among the names of a class."""
    if type(annotation) is type:
        return
    name = getattr(annotation, "__name__", None) or getattr(annotation, "_name", None)
    module = getattr(annotation, "__module__", "")
    if name in _OF_A_CLASS and module in ("typing", "typing_extensions"):
        raise ToolDefinitionError(
            f"{name} means something inside a class only.", hint="Write the type itself."
        )
    if get_origin(annotation) is not typing.Literal:
        for part in get_args(annotation):
            _check_placed(part)


def _reachable(annotation: Any, seen: set[int], names: dict[str, Any]) -> Iterator[Any]:
    if id(annotation) in seen:
        return
    seen.add(id(annotation))
    if isinstance(annotation, type):
        yield from annotation.__mro__ if annotation.__module__.startswith("pydantic.") else ()
    origin = get_origin(annotation)
    yield annotation if origin is None else origin
    parts: list[Any] = list(get_args(annotation)) if origin is not typing.Literal else []
    alias = getattr(annotation, "__value__", None)
    if alias is not None and not isinstance(annotation, type):
        parts.append(alias)
    parts.extend(_fields(annotation, names))
    for part in parts:
        yield from _reachable(part, seen, names)


def _fields(annotation: Any, names: dict[str, Any]) -> Iterator[Any]:
    fields = getattr(annotation, "__pydantic_fields__", None)
    if isinstance(annotation, type) and isinstance(fields, dict):
        for name, field in fields.items():
            _check_alias(annotation, name, field)
            yield getattr(field, "annotation", None)
    elif isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation)
        or hasattr(annotation, "__total__")
        or hasattr(annotation, "_field_defaults")
    ):
        try:
            hints = get_type_hints(annotation, None, names or None, include_extras=True)
        except Exception:  # what cannot be resolved is refused where the schema is built
            return
        for name, hint in hints.items():
            for field in said_of(annotation, name, hint):
                _check_alias(annotation, name, field)
            yield hint


def said_of(owner: type, name: str, hint: Any) -> Iterator[Any]:
    """What is said of a field besides its type: ``Annotated[T, ...]``, and its default."""
    while get_origin(hint) is not None and get_origin(hint) is not Annotated:
        if getattr(get_origin(hint), "_name", None) not in _MARKS:
            break
        hint = get_args(hint)[0]
    if get_origin(hint) is Annotated:
        yield from get_args(hint)[1:]
    yield getattr(owner, "__dict__", {}).get(name)


def _check_alias(model: type, name: str, field: Any) -> None:
    alias = getattr(field, "validation_alias", None)
    if alias is not None and not isinstance(alias, str):
        raise ToolDefinitionError(
            f"{model.__name__}.{name} has an {type(alias).__name__}, which has no JSON Schema.",
            hint="Give it one plain alias.",
        )
    written = getattr(field, "serialization_alias", None) or name
    read = alias if alias is not None else name
    if written != read:
        raise ToolDefinitionError(
            f"{model.__name__}.{name} is written as {written!r} but read as {read!r}.",
            hint="Give it one alias for both ways.",
        )


def signature_of(function: Any) -> inspect.Signature:
    """The signature of a function, method, partial or callable object.

    Raises:
        ToolDefinitionError: when Python knows none.
    """
    if isinstance(function, partial):
        # One that was given a `__wrapped__` would show the signature of what it binds.
        function = partial(function.func, *function.args, **function.keywords)
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"it has no signature: {error}.", hint="Wrap it in a function of your own."
        ) from None
