"""Parameters that salvor fills: markers that stand in for a value until a call delivers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from salvor.errors import NotInjected, ToolDefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """What a parameter gets instead of an argument.

    ``dependency`` takes nothing. It may be a function, an async function, or a generator of
    either colour that yields once: what follows the yield is the clean-up. Of scope ``call``
    it is opened for each execution of the tool, of scope ``runtime`` once.
    """

    dependency: Callable[..., Any]
    scope: str = "call"


class Undelivered:
    """A marker that stands where salvor puts a value; touching it is an error."""

    __slots__ = ("_salvor_dependency", "_salvor_text")

    def __init__(self, text: str, dependency: Dependency | None) -> None:
        self._salvor_text = text
        self._salvor_dependency = dependency

    def __repr__(self) -> str:
        return self._salvor_text

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        self._touched()

    def _touched(self, *_: object, **__: object) -> NoReturn:
        raise NotInjected(
            f"{self._salvor_text} was not delivered: the tool was called outside salvor.",
            hint="Hand the value in yourself, or call the tool through a run.",
        )

    __call__ = __getitem__ = __iter__ = __len__ = __bool__ = __contains__ = _touched
    __enter__ = __exit__ = __aenter__ = __aexit__ = __await__ = __aiter__ = _touched
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __int__ = __float__ = _touched


INJECTED: Final[Any] = Undelivered("INJECTED", None)
"""Default for a `Context` parameter that callers leave out: ``*, ctx: Context = INJECTED``."""


class _LeftOut:
    """Default of a field for which nothing is passed unless a caller does."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<left to the function>"


LEFT_OUT: Final = _LeftOut()


def Depends(dependency: Callable[..., Any], *, scope: str = "call") -> Any:  # noqa: N802
    """Declare a parameter that salvor fills: ``db: DB = Depends(get_db)``.

    Args:
        dependency: Called for the value, with nothing.
        scope: ``"call"``: opened for one execution and closed after it. ``"runtime"``: opened
            when it is first needed and closed with the runtime.

    Raises:
        ToolDefinitionError: when the dependency cannot be called, or of another scope.
    """
    if not callable(dependency):
        raise ToolDefinitionError(
            f"Depends takes a function, got {dependency!r}.",
            hint="Hand in the function itself, without calling it.",
        )
    if scope not in ("call", "runtime"):
        raise ToolDefinitionError(
            f"the scope of Depends has to be 'call' or 'runtime', got {scope!r}."
        )
    name = getattr(dependency, "__qualname__", type(dependency).__qualname__)
    return Undelivered(f"Depends({name})", Dependency(dependency=dependency, scope=scope))


def dependency_of(marker: object) -> Dependency | None:
    """What a `Depends` marker stands for; `None` for any other value."""
    return marker._salvor_dependency if isinstance(marker, Undelivered) else None
