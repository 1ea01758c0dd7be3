"""Tools that do what a test says: results in order, and their calls counted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from salvor.errors import ToolFailure
from salvor.tools.contract import Effect
from salvor.tools.decorator import make_meta
from salvor.tools.function import FunctionTool, function_tool


class Scripted:
    """A tool whose results are a list: values, exceptions, and wishes to park.

    Once ``tool`` is in a registry, `run.call` of the function it stands for calls it instead.

    Args:
        like: A tool whose name, parameters, effect and key it has; or the name of a made-up one.
        results: What each call gives, in order: an exception is raised, anything else (also
            what `suspend` and `sleep_until` give) is returned. A call too many fails for good.
        effect: The effect of a made-up tool.
        parameters: The types of its parameters, by name; all of them are required.
        key: Its idempotency key, as for ``@tool``.

    Attributes:
        calls: The arguments of each call so far, by name.
        tool: The tool, for a registry.
    """

    def __init__(
        self,
        like: Callable[..., Any] | str,
        results: Iterable[Any],
        *,
        effect: Effect = "write",
        parameters: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> None:
        if isinstance(like, str):
            self._stands_for: Any = _made_up(like, parameters or {})
            meta = make_meta(effect=effect, name=like, idempotency_key=key)
            tool = function_tool(self._stands_for, meta=meta)
        else:
            self._stands_for = like
            tool = function_tool(like)
        self._results = list(results)
        self.calls: list[dict[str, Any]] = []
        # What the real body has injected is not opened for one that needs nothing.
        self.tool: FunctionTool = replace(
            tool, fn=self, is_async=False, dependencies={}, _contexts=()
        )

    @property
    def __name__(self) -> str:
        """The name of the function it stands for."""
        return str(self._stands_for.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The next result."""
        signature = inspect.signature(self._stands_for)
        self.calls.append(dict(signature.bind_partial(*args, **kwargs).arguments))
        number = len(self.calls)
        if number > len(self._results):
            raise ToolFailure(
                f"{self.__name__} is called for the {number}. time, and has "
                f"{len(self._results)} results.",
                happened=False,
                final=True,
            )
        result = self._results[number - 1]
        if isinstance(result, BaseException):
            raise result
        return result

    # A registry finds a tool by its function: this one is found by the function it stands for.
    def __eq__(self, other: object) -> bool:
        return other is self or other is self._stands_for

    def __hash__(self) -> int:
        return hash(self._stands_for)


class Script(Protocol):
    """The fixture ``scripted``: makes a tool, and puts it into the registry of ``runtime``."""

    def __call__(
        self,
        like: Callable[..., Any] | str,
        results: Iterable[Any],
        *,
        effect: Effect = "write",
        parameters: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Scripted:
        """Make it; the arguments are those of `Scripted`."""
        ...


def _made_up(name: str, parameters: Mapping[str, Any]) -> Any:
    def made_up(**arguments: Any) -> Any:
        raise NotImplementedError  # its results are scripted

    made_up.__name__ = made_up.__qualname__ = name
    made_up.__doc__ = f"What {name} does is in a test."
    made_up.__annotations__ = dict(parameters)
    made_up.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(one, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
            for one, kind in parameters.items()
        ]
    )
    return made_up
