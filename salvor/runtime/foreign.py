"""What exceptions of common libraries say about a call (DURABILITY A2).

Known by class name, through the whole ancestry, without importing anything. An exception
that is not in the table says nothing: the call may have happened.
"""

from __future__ import annotations

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
    """What is known of a failed call."""

    extent: Extent
    final: bool = False


def verdict(error: BaseException) -> Verdict | None:
    """What an exception says about the call that raised it; ``None``: nothing."""
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
    return {
        f"{found.__module__.partition('.')[0]}.{found.__name__}" for found in type(error).__mro__
    }
