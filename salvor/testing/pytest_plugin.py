"""The pytest plugin: fixtures for the tests of tools, workflows and stores.

It is loaded by every pytest of an environment that has salvor, so all it imports at the top is
pytest; what a fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CLAUSES = "store_clauses"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers."""
    config.addinivalue_line(
        "markers",
        f"{CLAUSES}('S3', ...): the clauses of a store that `store_check` checks; all by default.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let a test that asks for `store_check` run once for each check."""
    if "store_check" not in metafunc.fixturenames:
        return
    from salvor.testing.store_checks import CHECKS

    marker = metafunc.definition.get_closest_marker(CLAUSES)
    wanted = {check.__name__.partition("_")[0].upper() for check in CHECKS}
    if marker is not None:
        unknown = set(marker.args) - wanted
        if unknown or not marker.args:
            raise pytest.UsageError(
                f"{CLAUSES} takes clauses such as 'S3', got {', '.join(sorted(unknown)) or 'none'}."
            )
        wanted = set(marker.args)
    chosen = [check for check in CHECKS if check.__name__.partition("_")[0].upper() in wanted]
    metafunc.parametrize(
        "store_check", chosen, indirect=True, ids=[check.__name__ for check in chosen]
    )


@pytest.fixture
def salvor_store() -> Any:
    """Makes the store that `store_check` checks; to be defined by the store's author."""
    pytest.fail(
        "define a fixture `salvor_store` that returns a function (clock) -> an empty store.",
        pytrace=False,
    )


@pytest.fixture
def store_check(request: pytest.FixtureRequest, salvor_store: Any) -> Callable[[], None]:
    """One check of one clause of a store; calling it makes the check."""
    import anyio

    return lambda: anyio.run(request.param, salvor_store)


@pytest.fixture
def fake_clock() -> Any:
    """A clock that stands still until it is moved (`FakeClock`)."""
    from salvor.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def salvor_registry() -> Any:
    """The registry of `runtime`: empty, and to be filled."""
    from salvor.registry.registry import Registry

    return Registry()


@pytest.fixture
def scripted(salvor_registry: Any) -> Any:
    """Makes tools whose results are a list (`Scripted`), for `runtime`."""
    from salvor.testing.scripted import Scripted

    def make(like: Callable[..., Any] | str, results: Any, **options: Any) -> Scripted:
        made = Scripted(like, results, **options)
        salvor_registry.merge([made.tool])
        return made

    return make


@pytest.fixture
async def runtime(anyio_backend: Any, salvor_registry: Any, fake_clock: Any) -> AsyncIterator[Any]:
    """A runtime in memory, by `fake_clock`, with neither plugins nor an operator's file."""
    from salvor.compose import open_runtime
    from salvor.config import Config
    from salvor.testing.clock import SmallIds

    opened = open_runtime(
        "memory:",
        registry=salvor_registry,
        plugins=False,
        config=Config(),
        clock=fake_clock,
        ids=SmallIds(),
    )
    async with opened as made:
        yield made


@pytest.fixture
def crash_matrix(tmp_path: Path, subtests: pytest.Subtests) -> Any:
    """Kills a tool or workflow at every boundary (`CrashMatrix`), a sub-test for each point."""
    from salvor.testing.matrix import CrashMatrix
    from salvor.testing.matrix_report import PointFailed

    @contextmanager
    def each(point: str) -> Iterator[None]:
        with subtests.test(msg=point):
            try:
                yield
            except PointFailed as error:
                raise pytest.fail.Exception(str(error), pytrace=False) from None

    return CrashMatrix(tmp_path, each=each)
