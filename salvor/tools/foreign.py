"""What exceptions of common libraries say about a call (DURABILITY A2).

Known by class name, through the whole ancestry, without importing anything. An exception
that is not in the table says nothing: the call may have happened. A name is the top-level
package and the class: ``httpx.ConnectError``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
        if self._added:
            for ancestor in type(error).__mro__:
                said = self._added.get(_name(ancestor))
                if said is not None:
                    return None if said.extent == "unknown" else said
        return _built_in(error)


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
