"""The tests of a store that is not salvor's."""

from collections.abc import Callable

import pytest
from my_store import MyStore

from salvor.testing.store_opened import MakeStore


@pytest.fixture
def salvor_store() -> MakeStore:
    return lambda clock: MyStore(clock=clock)


def test_my_store_keeps_the_clause(store_check: Callable[[], None]) -> None:
    store_check()
