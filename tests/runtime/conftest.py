from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from salvor.clock import Clock, SystemClock
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeIds

MakeRuntime = Callable[..., Runtime]
MakeStore = Callable[[Clock], Store]


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


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    """Makes the store of a test, which runs once on each kind; its runtime closes it."""
    if request.param == "memory":
        return lambda clock: MemoryStore(clock=clock)
    return lambda clock: SqliteStore.open(str(tmp_path / "store.db"), clock=clock)
