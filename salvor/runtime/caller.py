"""Calling tools, typed: what a run and its options have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from salvor.tools.context import Context
from salvor.values import JsonObject

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What one call does otherwise than its tool says.

    Attributes:
        timeout: Seconds to wait for the body; the tool's own by default.
        key: A declared key for this one call: text or an integer.
        call_id: A foreign loop's own name for the call (DURABILITY C7).
    """

    timeout: float | None = None
    key: str | int | None = None
    call_id: str | None = None


PLAIN = CallOptions()


class Caller(ABC):
    """Makes calls of tools."""

    __slots__ = ()

    @overload
    async def call(
        self,
        fn: Callable[Concatenate[Context, P], Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R: ...

    @overload
    async def call(
        self, fn: Callable[Concatenate[Context, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def call(
        self, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def call(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a tool; its output as the tool's return annotation has it.

        Raises:
            ToolFailed: the call ended in a failure. Nothing else is raised that a workflow
                could handle.
        """
        return await self._call(fn, args, kwargs)

    async def call_named(self, name: str, arguments: JsonObject) -> Any:
        """Call the tool of that name with JSON arguments.

        Raises:
            ToolFailed: the call ended in a failure, or there is no such tool.
        """
        return await self._call_named(name, arguments)

    @abstractmethod
    async def _call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any: ...

    @abstractmethod
    async def _call_named(self, name: str, arguments: JsonObject) -> Any: ...


@dataclass(frozen=True, slots=True)
class CallSpec(Generic[R_co]):
    """A call that is to be made, for `Run.gather`."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What is called, for messages."""
        return str(getattr(self.fn, "__name__", self.fn))


@overload
def spec(
    fn: Callable[Concatenate[Context, P], Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
) -> CallSpec[R]: ...


@overload
def spec(
    fn: Callable[Concatenate[Context, P], R], /, *args: P.args, **kwargs: P.kwargs
) -> CallSpec[R]: ...


@overload
def spec(fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> CallSpec[R]: ...


@overload
def spec(fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> CallSpec[R]: ...


def spec(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> CallSpec[Any]:
    """Say which call is to be made, without making it: for `Run.gather`."""
    return CallSpec(fn, args, kwargs)
