from collections.abc import Callable, Iterator

import pytest

from salvor.clock import Clock, SystemClock
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeIds

MakeRuntime = Callable[..., Runtime]


@pytest.fixture
def make_runtime() -> Iterator[MakeRuntime]:
    """Makes runtimes; those that are given one store share it, as several drivers."""
    made: list[Runtime] = []

    def make(
        store: Store | None = None,
        *,
        clock: Clock | None = None,
        lease: float = 30.0,
        claim_wait: float = 10.0,
    ) -> Runtime:
        clock = clock or SystemClock()
        runtime = Runtime(
            store=store or MemoryStore(clock=clock),
            registry=Registry(),
            clock=clock,
            ids=FakeIds(len(made)),
            lease=lease,
            claim_wait=claim_wait,
        )
        made.append(runtime)
        return runtime

    yield make
    for runtime in made:
        runtime._host.keeper.stop()
        runtime._host.threads.close()


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> Runtime:
    return make_runtime()
