"""Dependencies of scope ``runtime``: opened once, when first needed, closed with the runtime."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import anyio

from salvor.runtime.background import Background
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.opening import open_dependency
from salvor.tools.injection import Dependency

Provider = Callable[..., Any]


@dataclass(slots=True, eq=False)
class _Slot:
    ready: anyio.Event = field(default_factory=anyio.Event)
    closing: anyio.Event = field(default_factory=anyio.Event)
    closed: anyio.Event = field(default_factory=anyio.Event)
    value: Any = None
    error: Exception | None = None


class Shared:
    """Each is held open by a task of its own, so that one task enters and leaves it."""

    def __init__(self, background: Background, threads: BodyThreads) -> None:
        self._background = background
        self._threads = threads
        self._slots: dict[Provider, _Slot] = {}

    async def get(self, dependency: Dependency) -> Any:
        """The one value of a dependency; whoever comes first opens it.

        Raises:
            Exception: it could not be opened; the next caller tries again.
        """
        provider = dependency.dependency
        slot = self._slots.get(provider)
        if slot is None:
            slot = self._slots[provider] = _Slot()
            name = getattr(provider, "__qualname__", repr(provider))
            self._background.start_soon(
                lambda: self._hold(dependency, slot), f"the dependency {name}"
            )
        await slot.ready.wait()
        if slot.error is not None:
            raise slot.error
        return slot.value

    async def close(self) -> None:
        """Close all of them, the last opened first."""
        for slot in reversed(self._slots.values()):
            slot.closing.set()
            await slot.closed.wait()
        self._slots.clear()

    async def _hold(self, dependency: Dependency, slot: _Slot) -> None:
        try:
            async with AsyncExitStack() as stack:
                try:
                    slot.value = await open_dependency(stack, dependency, self._threads)
                except Exception as error:
                    slot.error = error
                    self._slots.pop(dependency.dependency, None)
                    return
                finally:
                    slot.ready.set()
                await slot.closing.wait()
        finally:
            slot.closed.set()
