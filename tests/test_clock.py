from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

from salvor.clock import SystemClock, SystemIds


def test_now_is_aware_and_in_utc() -> None:
    before = datetime.now(UTC)
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC


def test_boot_time_never_goes_back() -> None:
    clock = SystemClock()
    readings = [clock.boot() for _ in range(1000)]
    assert readings == sorted(readings)
    assert readings[0] > 0


def test_run_ids_are_random_uuids_in_their_usual_form() -> None:
    ids = [SystemIds().run_id() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(str(uuid.UUID(run_id)) == run_id for run_id in ids)
    assert {uuid.UUID(run_id).version for run_id in ids} == {4}


def test_tokens_are_32_hex_digits_and_differ() -> None:
    tokens = {SystemIds().token() for _ in range(100)}
    assert len(tokens) == 100
    assert all(re.fullmatch(r"[0-9a-f]{32}", token) for token in tokens)


def test_random_bits_fill_64_bits() -> None:
    values = [SystemIds().random() for _ in range(1000)]
    assert len(set(values)) == 1000
    assert all(0 <= value < 2**64 for value in values)
    assert max(values) >= 2**63
