import pytest

from salvor.events.chain import GENESIS, ChainCheck, row_hash
from salvor.events.records import Head, Row
from salvor.store_errors import TamperEvident
from tests.support.logs import RUN


def _rows(*texts: str) -> list[Row]:
    rows, prev = [], GENESIS
    for seq, text in enumerate(texts):
        prev = row_hash(prev, RUN, seq, text)
        rows.append(Row(seq=seq, recorded_at=0, envelope=text, row_hash=prev))
    return rows


def _head(rows: list[Row]) -> Head:
    last = rows[-1].row_hash if rows else GENESIS
    return Head(run_id=RUN, epoch=1, length=len(rows), head_hash=last, lease=None)


def test_the_hash_of_a_row_is_pinned() -> None:
    run = "6d1b7a7e-0000-4000-8000-00000000abcd"

    digest = row_hash(GENESIS, run, 1, '{"pinned":"bytes"}')

    assert digest.startswith("a0bae660")
    assert digest.endswith("10408")


@pytest.mark.parametrize("split", range(4))
def test_an_untouched_log_passes_in_any_pages(split: int) -> None:
    rows = _rows("a", "b", "c")
    check = ChainCheck(RUN)

    check.rows(rows[:split])
    check.rows(rows[split:])
    check.end(_head(rows))

    assert (check.length, check.head_hash) == (3, rows[-1].row_hash)


@pytest.mark.parametrize("place", range(3))
def test_an_edited_row_is_found_where_it_stands(place: int) -> None:
    rows = _rows("a", "b", "c")
    forged = rows[place]
    rows[place] = Row(
        seq=forged.seq, recorded_at=0, envelope=forged.envelope + " ", row_hash=forged.row_hash
    )

    with pytest.raises(TamperEvident) as caught:
        ChainCheck(RUN).rows(rows)

    assert caught.value.seq == place


def test_a_row_sealed_anew_breaks_the_row_after_it() -> None:
    rows = _rows("a", "b", "c")
    rows[1] = Row(
        seq=1, recorded_at=0, envelope="x", row_hash=row_hash(rows[0].row_hash, RUN, 1, "x")
    )

    with pytest.raises(TamperEvident, match="event 2"):
        ChainCheck(RUN).rows(rows)


def test_missing_and_reordered_rows_are_found() -> None:
    a, b, c = _rows("a", "b", "c")
    for rows in ([a, c], [b, a, c], [a, b, b, c]):
        with pytest.raises(TamperEvident):
            ChainCheck(RUN).rows(rows)


def test_rows_cut_off_at_the_end_are_found_by_the_head() -> None:
    rows = _rows("a", "b", "c")
    check = ChainCheck(RUN)
    check.rows(rows[:2])

    with pytest.raises(TamperEvident, match="2 rows are stored, the head counts 3"):
        check.end(_head(rows))


def test_a_head_of_another_log_is_found() -> None:
    check = ChainCheck(RUN)
    check.rows(_rows("a", "b"))

    with pytest.raises(TamperEvident, match="another last row"):
        check.end(_head(_rows("a", "x")))


def test_rows_that_are_sealed_in_order_and_numbered_otherwise_are_found() -> None:
    first, prev = _rows("a"), row_hash(GENESIS, RUN, 0, "a")
    later = Row(seq=2, recorded_at=0, envelope="c", row_hash=row_hash(prev, RUN, 2, "c"))

    with pytest.raises(TamperEvident, match="the next stored row is event 2"):
        ChainCheck(RUN).rows([*first, later])
