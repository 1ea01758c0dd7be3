from __future__ import annotations

from pathlib import Path

import pytest

from salvor.demo.claims import Claim
from salvor.demo.ledger import Audit, Ledger, append_payment, audit, read_ledger
from salvor.values import JsonObject

CLAIMS = [
    Claim(claim_id="A-1", amount_cents=100, currency="EUR"),
    Claim(claim_id="A-2", amount_cents=200, currency="EUR"),
]


def paid(claim_id: str, amount_cents: int = 100, currency: str = "EUR") -> JsonObject:
    return {"claim_id": claim_id, "amount_cents": amount_cents, "currency": currency}


def test_a_ledger_that_was_never_written_is_empty(tmp_path: Path) -> None:
    assert read_ledger(tmp_path / "none") == Ledger(payments=(), torn=None)


def test_payments_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    append_payment(path, paid("A-1"))
    append_payment(path, paid("A-2", 200))

    ledger = read_ledger(path)

    assert ledger == Ledger(payments=(paid("A-1"), paid("A-2", 200)), torn=None)
    assert ledger.payment("A-2") == paid("A-2", 200)
    assert ledger.payment("A-3") is None


def test_a_torn_last_line_is_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    append_payment(path, paid("A-1"))
    with path.open("ab") as file:
        file.write(b'{"claim_id":"A-')

    assert read_ledger(path) == Ledger(payments=(paid("A-1"),), torn='{"claim_id":"A-')


def test_what_was_written_behind_a_torn_line_still_counts(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b'{"claim_id":"A-')
    append_payment(path, paid("A-1"))
    append_payment(path, paid("A-2", 200))

    ledger = read_ledger(path)

    assert ledger.payments == (paid("A-2", 200),)
    assert ledger.torn is not None


@pytest.mark.parametrize(
    ("payments", "duplicates", "missing", "wrong"),
    [
        ((paid("A-1"), paid("A-2", 200)), 0, 0, 0),
        ((paid("A-1"),), 0, 1, 0),
        ((paid("A-1"), paid("A-2", 200), paid("A-1")), 1, 0, 0),
        ((paid("A-1"), paid("A-2", 201)), 0, 0, 1),
        ((paid("A-1"), paid("A-2", 200), paid("A-9")), 0, 0, 1),
    ],
)
def test_the_audit_counts_what_is_off(
    payments: tuple[JsonObject, ...], duplicates: int, missing: int, wrong: int
) -> None:
    found = audit(CLAIMS, Ledger(payments=payments, torn=None))

    assert found == Audit(
        claims=2, payments=len(payments), duplicates=duplicates, missing=missing, wrong=wrong
    )
    assert found.good is (duplicates + missing + wrong == 0)
