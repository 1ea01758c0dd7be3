"""What exceptions of common libraries say about a call (DURABILITY A2).

Known by class name, through the whole ancestry, without importing anything. An exception
that is not in the table says nothing: the call may have happened. A name is the top-level
package and the class: ``httpx.ConnectError``.

The table judges the exception that left the body, and nothing else. It cannot know what the body
sent before: a body that charges a card and then finds nobody at a second address raises the same
exception as one that found nobody at the first, and a write is made again after both. So a write
should send one request, or say ``exceptions="unknown"``, which leaves the table out. Only what
the exception itself shows of earlier requests is seen: it was raised while the failure of
another one was handled, or its answer was reached over a redirect to another method.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from salvor.errors import Extent

# Raised before a request can have left this machine, or when nobody was there to take it.
NEVER_SENT = frozenset(
    {
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "httpx.ConnectError",
        "httpx.ConnectTimeout",
        "httpx.PoolTimeout",
        "httpx.UnsupportedProtocol",
        "httpx.InvalidURL",
        "requests.ConnectTimeout",
        "requests.InvalidURL",
        "requests.InvalidSchema",
        "requests.MissingSchema",
        "urllib3.NewConnectionError",
        "urllib3.NameResolutionError",
        "urllib3.ConnectTimeoutError",
    }
)
REFUSED_BY_STATUS = frozenset({"httpx.HTTPStatusError", "requests.HTTPError"})

# What is raised for a request that was made; in the context of another one's, it went before.
OF_A_REQUEST = frozenset(
    {
        "httpx.HTTPError",
        "requests.RequestException",
        "aiohttp.ClientError",
        "urllib.URLError",
        "http.HTTPException",
    }
)
# The same of Python itself; beneath a library's error they are only what it wraps.
OF_A_CONNECTION = frozenset({"builtins.ConnectionError", "builtins.TimeoutError"})
OF_PYTHON = frozenset({"builtins.ConnectionRefusedError", "socket.gaierror"})

# Client errors after which the same request may do better, or may have been taken all the same.
PASSING_STATUS = frozenset({408, 409, 425, 429})

_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an exception says of the call that raised it.

    Attributes:
        extent: What the call may have done (DURABILITY A1).
        final: Whether trying again would fail in the same way.
    """

    extent: Extent
    final: bool = False


class ForeignTable:
    """The built-in table, and what plugins add to it.

    Args:
        added: By name, what such an exception says; the most derived class counts, and
            before anything built in.
    """

    __slots__ = ("_added",)

    def __init__(self, added: Mapping[str, Verdict] | None = None) -> None:
        self._added = dict(added or {})

    def verdict(self, error: BaseException) -> Verdict | None:
        """What an exception says about the call that raised it; ``None``: nothing."""
        said = self._said(error)
        if said is not None:
            return None if said.extent == "unknown" else said
        known = _built_in(error)
        if known is not None and (_turned(error) or self._went_before(error)):
            return replace(known, extent="unknown")
        return known

    def _said(self, error: BaseException) -> Verdict | None:
        if self._added:
            for ancestor in type(error).__mro__:
                said = self._added.get(_name(ancestor))
                if said is not None:
                    return said
        return None

    def _went_before(self, error: BaseException) -> bool:
        """Whether another request failed before, which may have been taken."""
        of_another = OF_A_REQUEST
        if _names(error) & OF_PYTHON:
            of_another |= OF_A_CONNECTION
        for other in _behind(error):
            said = self._said(other)
            if said is None and _names(other) & of_another:
                said = _built_in(other) or Verdict("unknown")
            if said is not None and said.extent != "no":
                return True
        return False


BUILT_IN = ForeignTable()


def fault_of_name(name: object) -> str | None:
    """Why a name cannot be added to the table, ``None`` if it can."""
    if not isinstance(name, str) or _class_name(name) is None:
        return "a name has to be a top-level package and a class, such as 'acme.Refused'"
    if name.startswith("builtins."):
        return "an exception of Python itself says nothing of a call"
    if name in NEVER_SENT | REFUSED_BY_STATUS or name == "requests.ConnectionError":
        return "it is in the table already"
    return None


_class_name = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*").fullmatch


def _built_in(error: BaseException) -> Verdict | None:
    names = _names(error)
    if names & NEVER_SENT:
        return Verdict("no")
    if names & REFUSED_BY_STATUS:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int) and 400 <= status < 500 and status not in PASSING_STATUS:
            return Verdict("no", final=True)
        return None
    if "requests.ConnectionError" in names:
        return _wrapped(error)
    return None


def _turned(error: BaseException) -> bool:
    """Whether its answer is that of a redirect to another method: the first request was taken."""
    response = getattr(error, "response", None)
    history = getattr(response, "history", None) or ()
    return any(_method(step) != _method(response) for step in history)


def _method(response: object) -> object:
    return getattr(getattr(response, "request", None), "method", None)


def _behind(error: BaseException) -> Iterator[BaseException]:
    """What was being handled when it was raised, and what those came from, each once."""
    seen, found = {id(error)}, [error]
    while found:
        current = found.pop()
        inner = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        for other in (current.__cause__, current.__context__, *inner):
            if other is not None and id(other) not in seen:
                seen.add(id(other))
                found.append(other)
                yield other


def _wrapped(error: BaseException) -> Verdict | None:
    # requests raises one class for a connection that was refused and for one that broke;
    # which it was stands in what it wraps: ConnectionError(MaxRetryError(reason=...)).
    inner: object = error
    for _ in range(_MAX_DEPTH):
        reason = getattr(inner, "reason", None)
        inner = reason if isinstance(reason, BaseException) else _first_argument(inner)
        if inner is None:
            return None
        if _names(inner) & NEVER_SENT:
            return Verdict("no")
    return None


def _first_argument(error: object) -> BaseException | None:
    arguments = getattr(error, "args", ())
    first = arguments[0] if arguments else None
    return first if isinstance(first, BaseException) else None


def _names(error: object) -> set[str]:
    return {_name(ancestor) for ancestor in type(error).__mro__}


def _name(found: type) -> str:
    return f"{found.__module__.partition('.')[0]}.{found.__name__}"
