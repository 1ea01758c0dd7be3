"""``**options: Unpack[Options]``: the keys of a typed dict as parameters of their own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from salvor.errors import ToolDefinitionError
from salvor.tools.annotations import local_names, resolve
from salvor.tools.injection import LEFT_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One key, as `inspect.Parameter` would have it if it took any text for a name."""

    name: str
    annotation: Any
    default: Any
    kind: inspect._ParameterKind = inspect.Parameter.KEYWORD_ONLY


def unpacked(annotation: Any, function: Any) -> Any:
    """The typed dict inside ``Unpack[...]``; `None` for any other annotation.

    Raises:
        ToolDefinitionError: when it cannot be resolved, or unpacks something else.
    """
    if annotation is inspect.Parameter.empty:
        return None
    found = resolve(annotation, function)
    if not _named(found, "Unpack"):
        return None
    (options,) = get_args(found)
    if not hasattr(get_origin(options) or options, "__required_keys__"):
        raise ToolDefinitionError(
            f"Unpack takes a TypedDict, got {options!r}.", hint="Write one with the keys."
        )
    return options


def entries(options: Any, function: Any) -> Iterator[Entry]:
    """One keyword-only parameter for each key of a typed dict, in its order.

    Raises:
        ToolDefinitionError: when an annotation in it cannot be resolved.
    """
    cls = get_origin(options) or options
    chosen = dict(zip(getattr(cls, "__parameters__", ()), get_args(options), strict=False))
    for name, annotation in _hints(cls, function).items():
        annotation, required = _unqualified(annotation, name in cls.__required_keys__)
        yield Entry(
            name=name,
            annotation=_filled_in(annotation, chosen),
            default=inspect.Parameter.empty if required else LEFT_OUT,
        )


def _hints(cls: Any, function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(cls, None, local_names(function) or None, include_extras=True)
    except Exception as error:  # the text of an annotation can do anything
        raise ToolDefinitionError(
            f"the keys of {cls.__qualname__} cannot be resolved: {error}.",
            hint="Define or import what it names before it, or at module level.",
        ) from None


def _unqualified(annotation: Any, required: bool) -> tuple[Any, bool]:
    # Where annotations are text, `__required_keys__` has not seen these words.
    for word, means in (("Required", True), ("NotRequired", False), ("ReadOnly", required)):
        if _named(annotation, word):
            return _unqualified(get_args(annotation)[0], means)
    if get_origin(annotation) is Annotated:
        inner, *metadata = get_args(annotation)
        inner, required = _unqualified(inner, required)
        return Annotated[(inner, *metadata)], required
    return annotation, required


def _filled_in(annotation: Any, chosen: Mapping[Any, Any]) -> Any:
    if annotation in chosen:
        return chosen[annotation]
    open_ones = getattr(annotation, "__parameters__", ())
    if not open_ones or isinstance(annotation, type):
        return annotation
    return annotation[tuple(chosen.get(one, one) for one in open_ones)]


def _named(annotation: Any, word: str) -> bool:
    # typing and typing_extensions have one of each, and they differ on some versions of Python.
    origin = getattr(annotation, "__origin__", None)
    return getattr(origin, "_name", None) == word
