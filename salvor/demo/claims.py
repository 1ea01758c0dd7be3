"""Reading a file of claims: what can be used, and what is wrong with the rest.

The file is CSV in UTF-8 with a header. These columns count, in any order; others are
ignored:

    claim_id      text of 1 to 64 characters; a claim stands once in a file
    amount_cents  a whole number from 1 to 1,000,000,000,000
    currency      three capital letters (ISO 4217), such as EUR
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel

from salvor.errors import SalvorError

COLUMNS = ("claim_id", "amount_cents", "currency")
MAX_CENTS = 1_000_000_000_000


class Claim(BaseModel):
    """One approved claim: who is paid how much is settled, only the payment is missing."""

    claim_id: str
    amount_cents: int
    currency: str


class ClaimFileError(SalvorError):
    """A file of claims cannot be read at all."""

    code = "claim_file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A row that is left out: the line it begins at, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimFile:
    """The claims of a file, in its order, and the rows that are none."""

    claims: tuple[Claim, ...]
    faults: tuple[Fault, ...]


def sample() -> Path:
    """The file of claims that ships with salvor."""
    return Path(str(files("salvor.demo").joinpath("claims.csv")))


def read_claims(path: Path, *, limit: int) -> ClaimFile:
    """The first ``limit`` good claims of a file, and the faulty rows met on the way.

    Raises:
        ClaimFileError: the file cannot be read, is not UTF-8, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _read(_records(file), path, limit)
    except OSError as error:
        raise ClaimFileError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ClaimFileError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8 CSV.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    line: int
    fields: list[str] | None
    reason: str = ""


def _records(lines: Iterator[str]) -> Iterator[_Record]:
    # A quoted field may hold line ends: a record begins after the line the last one ended on.
    reader = csv.reader(lines, strict=True)
    line = 1
    while True:
        try:
            yield _Record(line=line, fields=next(reader))
        except csv.Error as error:
            yield _Record(line=line, fields=None, reason=f"it is not CSV: {error}")
        except StopIteration:
            return
        line = reader.line_num + 1


def _read(records: Iterator[_Record], path: Path, limit: int) -> ClaimFile:
    header = [name.strip() for name in next(records, _Record(line=1, fields=[])).fields or []]
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        raise ClaimFileError(
            f"{path} has no column {', '.join(missing)} in its first line.",
            hint="Every one is needed; commas separate them, and other columns are ignored.",
        )
    claims: dict[str, Claim] = {}
    faults: list[Fault] = []
    for record in records:
        if len(claims) == limit:
            break
        if record.fields == []:
            continue
        claim = _claim(record, header)
        if isinstance(claim, str):
            faults.append(Fault(line=record.line, reason=claim))
        elif claim.claim_id in claims:
            faults.append(Fault(line=record.line, reason=f"claim {claim.claim_id} is there twice"))
        else:
            claims[claim.claim_id] = claim
    return ClaimFile(claims=tuple(claims.values()), faults=tuple(faults))


def _claim(record: _Record, header: list[str]) -> Claim | str:
    if record.fields is None:
        return record.reason
    if len(record.fields) != len(header):
        return f"it has {len(record.fields)} fields, the header has {len(header)}"
    row = {name: field.strip() for name, field in zip(header, record.fields, strict=True)}
    return _fault(row) or Claim(
        claim_id=row["claim_id"],
        amount_cents=int(row["amount_cents"]),
        currency=row["currency"],
    )


def _fault(row: dict[str, str]) -> str | None:
    if not 1 <= len(row["claim_id"]) <= 64:
        return f"claim_id has to have 1 to 64 characters, got {_shown(row['claim_id'])}"
    if not re.fullmatch(r"[0-9]{1,13}", row["amount_cents"]):
        return f"amount_cents has to be a whole number, got {_shown(row['amount_cents'])}"
    if not 1 <= int(row["amount_cents"]) <= MAX_CENTS:
        return f"amount_cents has to be from 1 to {MAX_CENTS:,}, got {row['amount_cents']}"
    if not re.fullmatch(r"[A-Z]{3}", row["currency"]):
        return f"currency has to be three capital letters, got {_shown(row['currency'])}"
    return None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")
