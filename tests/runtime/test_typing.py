"""What a type checker sees: this file is checked by mypy, and run as well."""

from typing import assert_type

import pytest

from salvor.runtime.outcome import Completed, RunResult
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from tests.support.shop import Receipt

pytestmark = pytest.mark.anyio


@tool(effect="read")
def plain(n: int) -> Receipt:
    """Plain."""
    return Receipt(claim_id="c", cents=n)


@tool(effect="read")
async def with_context(ctx: Context, n: int) -> Receipt:
    """With context."""
    return Receipt(claim_id=ctx.run_id, cents=n)


@workflow
async def checked(run: Run) -> int:
    first = assert_type(await run.call(plain, n=1), Receipt)
    second = assert_type(await run.call(with_context, n=2), Receipt)
    return first.cents + second.cents


async def test_a_call_has_the_type_its_tool_returns(runtime: Runtime) -> None:
    result = assert_type(await runtime.run(checked), RunResult[int])

    assert isinstance(result, Completed)
    assert assert_type(result.output, int) == 3
    assert assert_type(plain(4), Receipt).cents == 4
