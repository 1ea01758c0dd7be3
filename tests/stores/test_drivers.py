from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from salvor.events.records import Driver
from salvor.stores.drivers import DriverLocks

DRIVER = Driver(id="driver-1", pid=1, host=socket.gethostname())


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "store.db-drivers"


def test_a_driver_lives_as_long_as_its_lock(directory: Path) -> None:
    mine, other = DriverLocks(str(directory)), DriverLocks(str(directory))
    assert mine.hold(DRIVER)
    assert not mine.hold(DRIVER)
    assert not other.is_dead(DRIVER)
    assert not mine.is_dead(DRIVER)
    mine.forget()
    assert other.is_dead(DRIVER)


def test_a_missing_file_and_another_host_prove_nothing(directory: Path) -> None:
    mine, other = DriverLocks(str(directory)), DriverLocks(str(directory))
    assert not other.is_dead(DRIVER)
    mine.hold(DRIVER)
    mine.forget()
    assert not other.is_dead(replace(DRIVER, host="elsewhere"))
    assert not other.is_dead(replace(DRIVER, id="../driver-1"))


def test_only_dead_drivers_that_may_go_are_swept(directory: Path) -> None:
    dead, mine = DriverLocks(str(directory)), DriverLocks(str(directory))
    for name in ("dead", "needed"):
        dead.hold(replace(DRIVER, id=name))
    mine.hold(DRIVER)
    (directory / ".odd").touch()
    mine.sweep(lambda driver_id: True)
    assert len(os.listdir(directory)) == 4
    dead.forget()
    mine.sweep(lambda driver_id: driver_id != "needed")
    assert sorted(os.listdir(directory)) == [".odd", "driver-1", "needed"]


def test_what_is_let_go_leaves_no_file(directory: Path) -> None:
    mine = DriverLocks(str(directory))
    mine.hold(DRIVER)
    mine.let_go(lambda driver_id: True)
    assert not directory.exists()
