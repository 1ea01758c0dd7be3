"""What a tool's author declares: its effect on the world, its key, how failures count."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any, Literal, TypeAlias

from salvor.errors import ToolDefinitionError
from salvor.tools.verification import Verify

Effect: TypeAlias = Literal["read", "idempotent", "write"]
EFFECTS: tuple[Effect, ...] = ("read", "idempotent", "write")

KeyFunction: TypeAlias = Callable[[dict[str, Any]], Any]
KeyDeclaration: TypeAlias = str | tuple[str, ...] | KeyFunction
ApprovalDeclaration: TypeAlias = bool | Callable[[dict[str, Any]], bool]

STAMP = "__salvor_tool__"
NAMES = "__salvor_names__"

_TOOL_NAME = r"[a-zA-Z0-9_-]{1,64}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a failed call is tried, and how long the first pause is.

    Args:
        attempts: Executions in all, the first one included.
        backoff: Seconds before the second execution; doubled for each further one.
    """

    attempts: int = 3
    backoff: float = 0.5

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ToolDefinitionError(
                f"Retry.attempts has to be a whole number of at least 1, got {self.attempts!r}."
            )
        if isinstance(self.backoff, bool) or not 0 <= self.backoff <= 3600:
            raise ToolDefinitionError(
                f"Retry.backoff has to be 0 to 3600 seconds, got {self.backoff!r}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMeta:
    """What `@tool` stamps on a function; `None` and empty mean "not declared"."""

    effect: Effect
    name: str | None = None
    description: str | None = None
    idempotency_key: KeyDeclaration | None = None
    claim_scope: str | None = None
    retry: Retry | None = None
    refusals: tuple[type[Exception], ...] = ()
    exceptions: Literal["failed", "unknown"] | None = None
    timeout: float | None = None
    approval: ApprovalDeclaration = False
    verify: Verify | None = None
    inline: bool = False
    tags: tuple[str, ...] = ()

    @property
    def key_paths(self) -> tuple[str, ...]:
        """The declared key as dotted paths; empty for none and for a key function."""
        key = self.idempotency_key
        if isinstance(key, str):
            return (key,)
        return key if isinstance(key, tuple) else ()


def check_name(name: object, where: str | None = None) -> None:
    """Refuse what cannot be a tool's name.

    Raises:
        ToolDefinitionError: for anything but 1 to 64 of ``a-z A-Z 0-9 _ -``, or a reserved name.
    """
    if not isinstance(name, str) or re.fullmatch(_TOOL_NAME, name) is None:
        raise ToolDefinitionError(
            f"a tool's name has to be 1 to 64 letters, digits, '_' or '-', got {name!r}.",
            where=where,
            hint="Give it another one with name=.",
        )
    if name == "salvor_answer" or name.startswith("_salvor"):
        raise ToolDefinitionError(
            f"the name {name!r} is reserved.", where=where, hint="Give it another one with name=."
        )


def check_meta(meta: ToolMeta, where: str | None = None) -> None:
    """Refuse options that cannot be meant.

    Raises:
        ToolDefinitionError: naming the option, what it takes, and what came.
    """
    if meta.effect not in EFFECTS:
        raise ToolDefinitionError(
            f"effect has to be 'read', 'idempotent' or 'write', got {meta.effect!r}.", where=where
        )
    if meta.name is not None:
        check_name(meta.name, where)
    if meta.idempotency_key is not None:
        _check_key(meta, where)
    if meta.refusals:
        _check_refusals(meta.refusals, where)
    for option, fits, takes in (
        ("description", _text_or_none(meta.description), "text that is not blank"),
        ("claim_scope", _text_or_none(meta.claim_scope), "text that is not blank"),
        ("retry", meta.retry is None or type(meta.retry) is Retry, "a Retry"),
        (
            "exceptions",
            meta.exceptions in (None, "failed", "unknown"),
            "None, 'failed' or 'unknown'",
        ),
        ("timeout", _seconds_or_none(meta.timeout), "a number of seconds above 0, or None"),
        (
            "approval",
            type(meta.approval) is bool or callable(meta.approval),
            "True, False or a function of the arguments",
        ),
        ("verify", meta.verify is None or callable(meta.verify), "a function, or None"),
        ("inline", type(meta.inline) is bool, "True or False"),
        ("tags", not meta.tags or all(map(_text_or_none, meta.tags)), "texts that are not blank"),
    ):
        if not fits:
            got = getattr(meta, option)
            raise ToolDefinitionError(f"{option} has to be {takes}, got {got!r}.", where=where)
    if meta.verify is not None and meta.effect != "write":
        raise ToolDefinitionError(
            f"verify is for a write; {'an' if meta.effect == 'idempotent' else 'a'} {meta.effect} "
            "call is made again.",
            where=where,
            hint="Drop it.",
        )
    if meta.inline and meta.timeout is not None:
        raise ToolDefinitionError(
            "an inline tool takes no timeout: it runs on the event loop's own thread, and nobody "
            "can stop waiting for it there.",
            where=where,
            hint="Drop one of the two.",
        )


def _seconds_or_none(value: object) -> bool:
    return value is None or (type(value) in (int, float) and 0 < value < 1e9)  # type: ignore[operator]


def _text_or_none(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(value.strip()))


def _check_key(meta: ToolMeta, where: str | None) -> None:
    if meta.effect == "read":
        raise ToolDefinitionError(
            "a read tool takes no idempotency_key: a read may always run again.",
            where=where,
            hint="Drop the key, or declare what the tool changes with another effect.",
        )
    paths = meta.key_paths
    if not paths and not callable(meta.idempotency_key):
        raise ToolDefinitionError(
            "idempotency_key has to be a dotted path, a tuple of them or a function of the "
            f"arguments, got {meta.idempotency_key!r}.",
            where=where,
        )
    for path in paths:
        if type(path) is not str or not all(path.split(".")):
            raise ToolDefinitionError(
                f"the key path {path!r} is not a dotted path such as 'order.id'.", where=where
            )
    if len(set(paths)) != len(paths):
        raise ToolDefinitionError("a key path stands twice in idempotency_key.", where=where)


def _check_refusals(refusals: tuple[Any, ...], where: str | None) -> None:
    for refusal in refusals:
        if not (isinstance(refusal, type) and issubclass(refusal, Exception)):
            raise ToolDefinitionError(
                f"refusals has to list exception classes, got {refusal!r}.", where=where
            )


def place_of(function: Any) -> str:
    """Where a function stands: ``path/file.py:12 pay_claim``."""
    function = unwrap(function)
    function = getattr(function, "__func__", function)
    name = getattr(function, "__qualname__", None) or repr(type(function).__qualname__)
    code = getattr(function, "__code__", None) or _first_code(function)
    if code is None:
        return f"{getattr(function, '__module__', None) or 'unknown module'} {name}"
    return f"{code.co_filename}:{code.co_firstlineno} {name}"


def located_error(error: ToolDefinitionError, function: Any) -> ToolDefinitionError:
    """The same refusal, saying where the function stands."""
    return ToolDefinitionError(
        error.reason,
        where=error.where or place_of(function),
        parameter=error.parameter,
        hint=error.hint,
    )


def _first_code(cls: Any) -> Any:
    """The code of the first function in a class, which stands nearest to its head."""
    functions = vars(cls).values() if isinstance(cls, type) else ()
    return next((item.__code__ for item in functions if isinstance(item, FunctionType)), None)


def unwrap(function: Any) -> Any:
    """The function that states the signature.

    It is found behind ``functools.wraps`` wrappers, partials and callable objects; a wrapper
    with a ``__signature__`` of its own states it itself.
    """
    return inside(function)[-1]


def inside(function: Any) -> list[Any]:
    """A function and what it wraps, step by step, up to the one that states the signature."""
    found = [function]
    while len(found) < 100 and (inner := _inner(found[-1])) is not None:
        found.append(inner)
    return found


def _inner(function: Any) -> Any:
    if type(function) is FunctionType:
        attributes = function.__dict__
        return None if "__signature__" in attributes else attributes.get("__wrapped__")
    if isinstance(function, partial):
        return function.func
    own = _own(function)
    if "__signature__" in own:
        return None
    if "__wrapped__" in own:
        return own["__wrapped__"]
    if isinstance(function, type) or not callable(function):
        return None
    call = type(function).__call__
    return call if isinstance(call, FunctionType) else None


def _own(function: Any) -> Mapping[str, Any]:
    target = getattr(function, "__func__", function)
    found: Mapping[str, Any] = getattr(target, "__dict__", None) or {}
    return found
