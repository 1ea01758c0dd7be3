"""The decorated functions of what is added: a function, a module, an object."""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType, ModuleType
from typing import Any

from salvor.errors import ToolDefinitionError
from salvor.tools.decorator import tool_meta


def functions_of(source: Any) -> list[Any]:
    """What a source holds, in a fixed order.

    Raises:
        ToolDefinitionError: it can hold no tools, or an object holds none.
    """
    if isinstance(source, ModuleType):
        return _of_module(source)
    stamped = tool_meta(source) is not None and not isinstance(source, type)
    if isinstance(source, FunctionType | MethodType) or stamped:
        return [source]
    if callable(source):
        what = f"the class {source.__qualname__}" if isinstance(source, type) else repr(source)
        raise ToolDefinitionError(
            f"add takes a function, a module or an object with methods, got {what}.",
            hint="Add an instance: registry.add(TheClass())." if isinstance(source, type) else None,
        )
    return _of_instance(source)


def original_name(function: Any) -> str:
    """The name a decorated function has before any prefix or renaming."""
    meta = tool_meta(function)
    named = meta.name if meta is not None else None
    return named or str(getattr(function, "__name__", ""))


def _of_module(module: ModuleType) -> list[Any]:
    found = {
        id(value): value
        for _, value in sorted(vars(module).items())
        if isinstance(value, FunctionType)
        and value.__module__ == module.__name__
        and tool_meta(value) is not None
    }
    return list(found.values())


def _of_instance(instance: Any) -> list[Any]:
    names = [
        name
        for name in dir(type(instance))
        if tool_meta(inspect.getattr_static(type(instance), name, None)) is not None
    ]
    if not names:
        raise ToolDefinitionError(
            f"a {type(instance).__qualname__} has no method that carries @tool.",
            hint="Decorate its methods with @tool(effect=...).",
        )
    return [getattr(instance, name) for name in names]
