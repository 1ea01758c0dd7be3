"""`@tool`: check what can be seen at once, stamp the function, return it untouched."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from types import FrameType, FunctionType
from typing import Any, Final, Literal, TypeVar, overload

from salvor.errors import ToolDefinitionError
from salvor.tools.contract import (
    NAMES,
    STAMP,
    ApprovalDeclaration,
    Effect,
    KeyDeclaration,
    Retry,
    ToolMeta,
    check_meta,
    place_of,
    unwrap,
)
from salvor.tools.injection import dependency_of
from salvor.tools.verification import Verify

F = TypeVar("F")

OPTIONS: Final = frozenset(ToolMeta.__slots__) - {"effect"}

_VARARGS, _VARKEYWORDS, _GENERATORS = 0x04, 0x08, 0x20 | 0x200
_IDENTIFIER = r"[^\W\d]\w*"


@overload
def tool(
    *,
    effect: Literal["read"],
    name: str | None = None,
    description: str | None = None,
    idempotency_key: None = None,
    claim_scope: None = None,
    retry: Retry | None = None,
    refusals: Sequence[type[Exception]] = (),
    exceptions: Literal["failed", "unknown"] | None = None,
    timeout: float | None = None,
    approval: ApprovalDeclaration = False,
    verify: Verify | None = None,
    inline: bool = False,
    tags: Sequence[str] = (),
) -> Callable[[F], F]: ...


@overload
def tool(
    *,
    effect: Effect,
    name: str | None = None,
    description: str | None = None,
    idempotency_key: KeyDeclaration | None = None,
    claim_scope: str | None = None,
    retry: Retry | None = None,
    refusals: Sequence[type[Exception]] = (),
    exceptions: Literal["failed", "unknown"] | None = None,
    timeout: float | None = None,
    approval: ApprovalDeclaration = False,
    verify: Verify | None = None,
    inline: bool = False,
    tags: Sequence[str] = (),
) -> Callable[[F], F]: ...


def tool(*misplaced: Any, effect: Any = None, **options: Any) -> Callable[[F], F]:
    """Declare a function to be a tool.

    The function is returned untouched, still a plain function; nothing is registered.

    Args:
        effect: What a call does to the world. ``"read"``: nothing. ``"idempotent"``: once
            more under the same key changes nothing further. ``"write"``: anything else.
        name: The tool's name, instead of the function's.
        description: What it does, for a model, instead of the docstring.
        idempotency_key: What makes two calls the same one: a dotted path into the arguments
            (``"order.id"``), a tuple of them, or a function of the arguments.
        claim_scope: The name under which keys are claimed, for tools that share them.
        retry: How often a failed call is tried, and how long the first pause is.
        refusals: Exceptions that mean: nothing happened, and trying again will not help.
        exceptions: ``"failed"`` makes any exception of a write a final answer; otherwise
            a write that raised stops for a person. ``"unknown"``: also one that says of a
            library's request that it was never sent, or refused; for a body of several requests.
        timeout: Seconds to wait for the body. It bounds the waiting: an async body is
            cancelled, a synchronous one goes on in its thread, and no second copy of it is
            started meanwhile.
        approval: ``True``: a person has to say yes to each call before it is made. Or a function
            of the arguments that says whether.
        verify: For a write: asks the far side whether a call happened, given its arguments and
            its key; `Happened`, `NotHappened` or `CannotTell`. Asked by ``resume --verify`` only.
        inline: Run a synchronous function on the event loop's thread, for libraries that
            are bound to it; everything else waits for it.
        tags: Words to select tools by.

    Raises:
        ToolDefinitionError: naming file, line, function, parameter and what to do.
    """
    if misplaced or effect is None:
        raise ToolDefinitionError(
            "@tool needs an effect.",
            where=place_of(misplaced[0]) if misplaced else None,
            hint='Write @tool(effect="read"), @tool(effect="idempotent") or @tool(effect="write").',
        )
    if not options.keys() <= OPTIONS:
        raise _unknown_option(next(name for name in options if name not in OPTIONS))
    meta = make_meta(effect=effect, **options)

    def stamp(function: F) -> F:
        check_function(function, meta)
        _stamp(function, meta)
        return function

    return stamp


def make_meta(
    *,
    effect: Effect,
    name: str | None = None,
    description: str | None = None,
    idempotency_key: KeyDeclaration | None = None,
    claim_scope: str | None = None,
    retry: Retry | None = None,
    refusals: Sequence[type[Exception]] = (),
    exceptions: Literal["failed", "unknown"] | None = None,
    timeout: float | None = None,
    approval: ApprovalDeclaration = False,
    verify: Verify | None = None,
    inline: bool = False,
    tags: Sequence[str] = (),
) -> ToolMeta:
    """A `ToolMeta` of the options `@tool` takes; the values are checked when it is used."""
    return ToolMeta(
        effect=effect,
        name=name,
        description=description,
        idempotency_key=idempotency_key,
        claim_scope=claim_scope,
        retry=retry,
        refusals=refusals if type(refusals) is tuple else _several(refusals),
        exceptions=exceptions,
        timeout=timeout,
        approval=approval,
        verify=verify,
        inline=inline,
        tags=tags if type(tags) is tuple else _several(tags),
    )


def tool_meta(function: Any) -> ToolMeta | None:
    """What `@tool` stamped on a function or method; `None` when it did not."""
    meta = getattr(function, STAMP, None)
    if meta is None:
        meta = getattr(getattr(function, "__func__", None), STAMP, None)
    return meta if type(meta) is ToolMeta else None


def check_function(function: Any, meta: ToolMeta) -> None:
    """Check the options, and the function as far as its code object shows it.

    Raises:
        ToolDefinitionError: naming file, line, function, parameter and what to do.
    """
    try:
        check_meta(meta)
        if isinstance(function, FunctionType):
            _check_documented(function, meta)
            inner = unwrap(function)
            if isinstance(inner, FunctionType) and "__signature__" not in inner.__dict__:
                _check_code(inner, meta)
        elif isinstance(function, type) or not (
            callable(function) or isinstance(function, staticmethod | classmethod)
        ):
            raise ToolDefinitionError(
                f"a tool has to be a function, got {_what(function)}.",
                hint="Decorate a function or a method.",
            )
    except ToolDefinitionError as error:
        raise ToolDefinitionError(
            error.reason, where=place_of(function), parameter=error.parameter, hint=error.hint
        ) from None


def _unknown_option(name: str) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"@tool has no option {name!r}.", hint=f"It takes: effect, {', '.join(sorted(OPTIONS))}."
    )


def _several(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, list | set | frozenset) else (values,)


def _what(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    return f"a {type(value).__qualname__}"


def _stamp(function: Any, meta: ToolMeta) -> None:
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    stamped = getattr(function, "__dict__", {})
    if STAMP in stamped and "__wrapped__" not in stamped:
        raise ToolDefinitionError(
            "@tool stands on this function twice.", where=place_of(function), hint="Drop one."
        )
    try:
        setattr(function, STAMP, meta)
    except (AttributeError, TypeError):
        raise ToolDefinitionError(
            f"{_what(function)} cannot be decorated.",
            where=place_of(function),
            hint="Add it with registry.add_function(function, effect=...).",
        ) from None
    if "<locals>" in getattr(function, "__qualname__", ""):
        _keep_local_names(function)


def _keep_local_names(function: Any) -> None:
    # Annotations that are text may name types of the enclosing function, which nothing
    # else keeps alive: take those names now, while the frame is there.
    frame: FrameType | None = sys._getframe(3)
    around: list[dict[str, Any]] = []
    while frame is not None and function.__qualname__.startswith(f"{frame.f_code.co_qualname}."):
        around.append(frame.f_locals)
        frame = frame.f_back
    found: dict[str, Any] = {}
    carriers = [unwrap(function)] if around else []
    while carriers:
        for name in re.findall(_IDENTIFIER, _annotation_texts(carriers.pop())):
            value = next((names[name] for names in around if name in names), None)
            if value is not None and name not in found:
                found[name] = value
                carriers.append(value)  # a type's own annotations may name further ones
    if found:
        setattr(function, NAMES, found)


def _annotation_texts(carrier: Any) -> str:
    found = getattr(carrier, "__annotations__", None)
    values = found.values() if isinstance(found, dict) else ()
    texts = (getattr(value, "__forward_arg__", value) for value in values)
    return " ".join(text for text in texts if isinstance(text, str))


def _check_documented(function: FunctionType, meta: ToolMeta) -> None:
    if function.__name__ == "<lambda>" and meta.name is None:
        raise ToolDefinitionError("a lambda has no name.", hint="Give it one with name=.")
    documented = meta.description or function.__doc__
    if not documented or documented.isspace():
        raise ToolDefinitionError(
            "a tool needs a description, and there is neither a docstring nor description=.",
            hint="Write a docstring that says what the tool does.",
        )


def _check_code(function: FunctionType, meta: ToolMeta) -> None:
    code = function.__code__
    if code.co_flags & _GENERATORS:
        raise ToolDefinitionError(
            "a generator cannot be a tool: a call has one result.", hint="Return a list."
        )
    parent, _, _ = function.__qualname__.rpartition(".")
    if parent and not parent.endswith("<locals>"):
        return
    total = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:total]
    annotations = function.__annotations__
    unpacks = code.co_flags & (_VARARGS | _VARKEYWORDS) and _check_variadic(function, total)
    defaults = function.__defaults__ or ()
    given = dict(
        zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True)
    )
    given.update(function.__kwdefaults__ or {})
    for name in names:
        if name not in annotations and dependency_of(given.get(name)) is None:
            raise unannotated(name)
    for path in () if unpacks else meta.key_paths:
        check_key_parameter(path, [name for name in names if name not in given])


def _check_variadic(function: FunctionType, total: int) -> bool:
    """Whether ``**options`` unpacks a typed dict, which is read when registering."""
    name = function.__code__.co_varnames[total]
    annotation = function.__annotations__.get(name)
    if function.__code__.co_flags & _VARARGS:
        raise variadic(name, several=True)
    parts = annotation.partition("[") if isinstance(annotation, str) else ("", "", "")
    if not parts[1] and getattr(getattr(annotation, "__origin__", None), "_name", None) != "Unpack":
        raise variadic(name, several=False)
    return True


def unannotated(name: str) -> ToolDefinitionError:
    """The refusal of a parameter without a type."""
    hint = (
        "Register the method of an instance: registry.add(TheClass())."
        if name in ("self", "cls")
        else f"Write its type: {name}: str."
    )
    return ToolDefinitionError("it has no type annotation.", parameter=name, hint=hint)


def variadic(name: str, *, several: bool) -> ToolDefinitionError:
    """The refusal of ``*args`` and ``**kwargs``."""
    stars, instead = (
        ("*", "a list parameter")
        if several
        else ("**", "a dict parameter, or **options: Unpack[ATypedDict],")
    )
    return ToolDefinitionError(
        f"{stars}{name} has no schema.", parameter=name, hint=f"Use {instead} instead."
    )


def check_key_parameter(path: str, required: Sequence[str]) -> None:
    """Refuse a key path that does not begin with a required parameter."""
    head = path.partition(".")[0]
    if head not in required:
        known = ", ".join(required) or "none"
        raise ToolDefinitionError(
            f"the idempotency_key {path!r} names no required parameter {head!r}.",
            hint=f"A key has to be part of every call; the required parameters are: {known}.",
        )
