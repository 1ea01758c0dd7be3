"""Runs that are found by a name: keyed runs and sessions."""

from __future__ import annotations

import hashlib
from uuid import UUID

from salvor.runtime.words import check_words


def named_run_id(kind: str, namespace: str, name: str) -> str:
    """The id of the run with that name: the same in every process.

    A UUID of version 8 (RFC 9562, section 5.8) over a SHA-256 of kind, namespace and name.

    Raises:
        ValueError: the name is blank.
        JsonRefused: it is no text that a log can hold, or too long.
    """
    if type(name) is not str or not name.strip():
        raise ValueError(f"a name has to be text that is not blank, got {name!r}.")
    check_words(name=name)
    digest = hashlib.sha256("\0".join((kind, namespace, name)).encode()).digest()
    bits = int.from_bytes(digest[:16], "big")
    bits = bits & ~(0xF << 76) | 8 << 76  # version
    bits = bits & ~(0x3 << 62) | 0x2 << 62  # variant
    return str(UUID(int=bits))
