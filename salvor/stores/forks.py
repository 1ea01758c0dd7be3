"""What has to happen in a forked child: it must keep no lock and use no connection."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Inherited(Protocol):
    """Something that a child process inherits and has to let go of."""

    def forget(self) -> None:
        """Called in the child, right after the fork."""
        ...


_inherited: WeakSet[Inherited] = WeakSet()


def forget_in_children(thing: Inherited) -> None:
    """Have ``thing.forget()`` called in every child that is forked from now on."""
    _inherited.add(thing)


def _in_child() -> None:
    for thing in list(_inherited):
        thing.forget()


os.register_at_fork(after_in_child=_in_child)
