from collections.abc import Collection

import pytest

from salvor.events.records import Fence
from salvor.runtime.leases import LeaseKeeper
from salvor.store_errors import StoreUnavailable
from salvor.testing.clock import FakeClock

FENCE = Fence(run_id="r", epoch=1, token="t")


class RenewingStore:
    """Answers renewals as it is told to, and says when one was asked for."""

    def __init__(self) -> None:
        self.lost: set[Fence] = set()
        self.broken = False

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]:
        if self.broken:
            raise StoreUnavailable("gone")
        return self.lost & set(fences)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store() -> RenewingStore:
    return RenewingStore()


@pytest.fixture
def keeper(store: RenewingStore, clock: FakeClock) -> LeaseKeeper:
    # A lease this long keeps its own thread asleep for the whole test.
    return LeaseKeeper(store, clock, lease=4000.0)  # type: ignore[arg-type]


def test_b1_a_lease_stands_until_its_margin(keeper: LeaseKeeper, clock: FakeClock) -> None:
    keeper.add(FENCE, taken=clock.boot())

    assert keeper.stands(FENCE)
    clock.move(3997.9)
    assert keeper.stands(FENCE)
    clock.move(0.2)
    assert not keeper.stands(FENCE)
    keeper.stop()


def test_a_renewed_lease_stands_again(keeper: LeaseKeeper, clock: FakeClock) -> None:
    keeper.add(FENCE, taken=clock.boot())
    clock.move(5000)

    keeper.renew()

    assert keeper.stands(FENCE)
    keeper.stop()


def test_g2_a_lost_lease_never_stands_again(keeper: LeaseKeeper, store: RenewingStore) -> None:
    keeper.add(FENCE, taken=1000.0)
    store.lost = {FENCE}
    keeper.renew()
    store.lost = set()
    keeper.renew()

    assert not keeper.stands(FENCE)
    keeper.stop()


def test_a_lease_nobody_added_or_that_was_removed_does_not_stand(keeper: LeaseKeeper) -> None:
    assert not keeper.stands(FENCE)
    keeper.add(FENCE, taken=1000.0)
    keeper.remove(FENCE)
    keeper.renew()
    assert not keeper.stands(FENCE)
    keeper.stop()


def test_a_store_that_cannot_renew_lets_the_lease_run_out(
    keeper: LeaseKeeper, store: RenewingStore, clock: FakeClock
) -> None:
    keeper.add(FENCE, taken=clock.boot())
    store.broken = True
    with pytest.raises(StoreUnavailable):
        keeper.renew()
    clock.move(5000)

    assert not keeper.stands(FENCE)
    keeper.stop()


def test_g2_a_lease_counts_from_when_its_renewal_was_asked_for(clock: FakeClock) -> None:
    class Slow(RenewingStore):
        def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]:
            clock.move(10.0)
            return super().renew(fences, lease=lease)

    keeper = LeaseKeeper(Slow(), clock, lease=4000.0)  # type: ignore[arg-type]
    keeper.add(FENCE, taken=clock.boot())
    keeper.renew()
    clock.move(3985.0)

    assert keeper.stands(FENCE)
    clock.move(4.0)
    assert not keeper.stands(FENCE)
    keeper.stop()
