from collections.abc import Callable

import pytest

from salvor.clock import Clock, SystemClock
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeIds

MakeRuntime = Callable[..., Runtime]


@pytest.fixture
def make_runtime() -> MakeRuntime:
    """Makes runtimes; those that are given one store share it, as several drivers."""
    count = iter(range(256))

    def make(
        store: Store | None = None,
        *,
        clock: Clock | None = None,
        lease: float = 30.0,
        claim_wait: float = 10.0,
    ) -> Runtime:
        clock = clock or SystemClock()
        return Runtime(
            store=store or MemoryStore(clock=clock),
            registry=Registry(),
            clock=clock,
            ids=FakeIds(next(count)),
            lease=lease,
            claim_wait=claim_wait,
        )

    return make


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> Runtime:
    return make_runtime()
