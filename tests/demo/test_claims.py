from __future__ import annotations

from pathlib import Path

import pytest

from salvor.demo.claims import Claim, ClaimFileError, Fault, read_claims, sample


def file_of(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "claims.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_sample_has_a_thousand_good_rows() -> None:
    found = read_claims(sample(), limit=10_000)

    assert len(found.claims) == 1000
    assert found.faults == ()


def test_columns_may_stand_in_any_order_beside_others(tmp_path: Path) -> None:
    path = file_of(tmp_path, "currency,note,claim_id,amount_cents\nEUR,x,A-1,250\n")

    found = read_claims(path, limit=10)

    assert found.claims == (Claim(claim_id="A-1", amount_cents=250, currency="EUR"),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("A-1,EUR", "it has 2 fields, the header has 3"),
        (",5,EUR", "claim_id has to have 1 to 64 characters, got ''"),
        (f"{'x' * 65},5,EUR", "claim_id has to have 1 to 64 characters"),
        ("A-1,2.50,EUR", "amount_cents has to be a whole number, got '2.50'"),
        ("A-1,-5,EUR", "amount_cents has to be a whole number, got '-5'"),
        ("A-1,٣,EUR", "amount_cents has to be a whole number, got '٣'"),
        ("A-1,0,EUR", "amount_cents has to be from 1 to 1,000,000,000,000, got 0"),
        ("A-1,9999999999999,EUR", "amount_cents has to be from 1 to 1,000,000,000,000"),
        ("A-1,5,eur", "currency has to be three capital letters, got 'eur'"),
        ('"A-1" x,5,EUR', "it is not CSV"),
    ],
)
def test_a_bad_row_is_left_out_and_the_rest_goes_on(tmp_path: Path, row: str, reason: str) -> None:
    path = file_of(tmp_path, f"claim_id,amount_cents,currency\nA-0,1,EUR\n{row}\nA-2,3,EUR\n")

    found = read_claims(path, limit=10)

    assert [claim.claim_id for claim in found.claims] == ["A-0", "A-2"]
    assert [fault.line for fault in found.faults] == [3]
    assert found.faults[0].reason.startswith(reason)


def test_the_first_of_two_rows_with_one_claim_id_counts(tmp_path: Path) -> None:
    path = file_of(tmp_path, "claim_id,amount_cents,currency\nA-1,1,EUR\n A-1 ,2,EUR\n")

    found = read_claims(path, limit=10)

    assert [claim.amount_cents for claim in found.claims] == [1]
    assert found.faults == (Fault(line=3, reason="claim A-1 is there twice"),)


def test_lines_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        'claim_id,amount_cents,currency,note\r\nA-1,1,EUR,"two\r\nlines"\r\n\r\nA-2,x,EUR,\r\n',
    )

    found = read_claims(path, limit=10)

    assert [fault.line for fault in found.faults] == [5]


def test_only_as_many_rows_are_read_as_are_asked_for(tmp_path: Path) -> None:
    path = file_of(tmp_path, "claim_id,amount_cents,currency\nA-1,1,EUR\nA-2,1,EUR\nbad\n")

    found = read_claims(path, limit=2)

    assert (len(found.claims), found.faults) == (2, ())


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = file_of(tmp_path, b"\xef\xbb\xbfclaim_id,amount_cents,currency\nA-1,1,EUR\n")

    assert len(read_claims(path, limit=10).claims) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no column claim_id, amount_cents, currency"),
        ("claim_id,amount\n", "has no column amount_cents, currency"),
        (b"claim_id,amount_cents,currency\n\xff,1,EUR\n", "is not UTF-8 text"),
    ],
)
def test_a_file_that_is_none_of_claims_is_refused(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    with pytest.raises(ClaimFileError, match=message):
        read_claims(file_of(tmp_path, content), limit=10)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClaimFileError, match=r"nowhere\.csv cannot be read: No such file"):
        read_claims(tmp_path / "nowhere.csv", limit=10)


def test_columns_that_are_missing_are_listed_once(tmp_path: Path) -> None:
    with pytest.raises(ClaimFileError) as refused:
        read_claims(file_of(tmp_path, "a,b\n"), limit=10)

    assert str(refused.value).count("amount_cents") == 1
