"""The tools, called as salvor calls them, and as the functions they are."""

from pathlib import Path

import pytest
from desk import close_claim, find_claims

from salvor import ToolFailed
from salvor.testing.authors import call, context


def test_claims_are_found() -> None:
    assert [claim.id for claim in call(find_claims, {"text": "HAIL"})] == ["C-1", "C-3"]


def test_a_claim_that_is_not_there_is_not_closed() -> None:
    with pytest.raises(ToolFailed, match="no claim C-9") as caught:
        call(close_claim, {"claim_id": "C-9", "reason": "paid"})

    assert caught.value.extent == "no"


def test_the_key_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    close_claim(context(key="k-1"), claim_id="C-1", reason="paid")

    assert Path("closed.txt").read_text() == "C-1: paid [k-1]\n"
