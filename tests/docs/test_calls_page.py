"""The page on calls, failures and steps: its code does what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.snippets.calls.desk import BANK, bank, pay, settle, uptime
from salvor import Completed, Parked, Registry, open_runtime
from salvor.errors import ToolDefinitionError
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool, tool_meta

PAGE = (Path(__file__).parents[2] / "docs/reference/calls.md").read_text()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("claim_id", "cents", "said"),
    [
        ("C-1", 100, "C-1 on 20"),
        ("C-2", 200_000, "above the limit of this desk (happened: no)"),
        ("C-9", 100, "AccountClosed: C-9 (happened: no)"),
    ],
)
async def test_the_workflow_of_the_page_asks_and_pays(claim_id: str, cents: int, said: str) -> None:
    async with open_runtime(store="memory:", plugins=False) as runtime:
        asked = await runtime.run(settle, claim_id, cents)
        assert isinstance(asked, Parked)
        assert asked.reason == f"Pay {claim_id}?"
        done = await runtime.resume(asked.run_id, settle, answer=True)

    assert isinstance(done, Completed)
    assert done.output.startswith(said)
    assert any(claim_id in key for key in BANK.paid) == said.startswith("C-1")


def test_called_outside_salvor_the_function_is_plain() -> None:
    with pytest.raises(Exception, match="INJECTED was not delivered"):
        pay("C-3", 100, far=BANK)
    assert next(iter(bank())) is BANK
    assert uptime() > 0


def test_what_is_handed_in_is_no_argument() -> None:
    found = Registry().for_function(pay).input_schema

    assert list(found["properties"]) == ["claim_id", "cents"]  # type: ignore[arg-type]


def test_the_page_names_every_option_and_the_defaults() -> None:
    meta = tool_meta(pay)
    assert meta is not None
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]

    for option in type(meta).__dataclass_fields__:
        assert any(f"`{option}" in row.split("|")[1] for row in rows), option
    assert f"`Retry(attempts={Retry().attempts}, backoff={Retry().backoff})`" in PAGE


def test_an_inline_tool_takes_no_time_limit() -> None:
    with pytest.raises(ToolDefinitionError, match="an inline tool takes no timeout"):

        @tool(effect="read", inline=True, timeout=1)
        def both() -> str:
            """Both."""
            return "x"
