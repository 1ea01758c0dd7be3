"""The ledger: where payments end up, and what can be read from it after a crash.

One payment is one line of JSON. It stands for the world outside: salvor's log says what was
intended and what came back, the ledger what really happened.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from salvor.demo.claims import Claim
from salvor.errors import JsonRefused
from salvor.values import JsonObject, canonical_json, parse_object


def append_payment(path: Path, payment: JsonObject) -> None:
    """Add one line with one write, and wait until the disk has it."""
    line = canonical_json(payment).encode() + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        written = os.write(file, line)
        if written != len(line):
            raise OSError(f"only {written} of {len(line)} bytes were written to {path}")
        os.fsync(file)
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a ledger file holds; ``torn`` is what was not finished."""

    payments: tuple[JsonObject, ...]
    torn: str | None

    def payment(self, claim_id: str) -> JsonObject | None:
        """The payment of a claim, if there is one."""
        found = (entry for entry in self.payments if entry.get("claim_id") == claim_id)
        return next(found, None)


def read_ledger(path: Path) -> Ledger:
    """The payments of a ledger file; one that does not exist yet is empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return Ledger(payments=(), torn=None)
    *lines, rest = content.split(b"\n")
    payments: list[JsonObject] = []
    torn = [rest] if rest else []
    for line in lines:
        try:
            payments.append(parse_object(line, what="a line of the ledger"))
        except JsonRefused:
            torn.append(line)  # unfinished, and a later payment was written behind it
    shown = b"\n".join(torn).decode(errors="replace")
    return Ledger(payments=tuple(payments), torn=shown if torn else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Claims against payments: what was paid more than once, not at all, or wrongly.

    ``duplicates`` counts the payments too many; ``wrong`` those of another amount or for no
    claim of the file.
    """

    claims: int
    payments: int
    duplicates: int
    missing: int
    wrong: int

    @property
    def good(self) -> bool:
        """Every claim was paid, once and with its amount."""
        return not (self.duplicates or self.missing or self.wrong)


def audit(claims: Sequence[Claim], ledger: Ledger) -> Audit:
    """Compare the ledger with the claims it should hold, one payment for each."""
    due = {claim.claim_id: (claim.amount_cents, claim.currency) for claim in claims}
    paid = Counter(str(entry.get("claim_id")) for entry in ledger.payments)
    wrong = [
        entry
        for entry in ledger.payments
        if due.get(str(entry.get("claim_id"))) != (entry.get("amount_cents"), entry.get("currency"))
    ]
    return Audit(
        claims=len(claims),
        payments=len(ledger.payments),
        duplicates=sum(count - 1 for count in paid.values()),
        missing=sum(1 for claim_id in due if claim_id not in paid),
        wrong=len(wrong),
    )
