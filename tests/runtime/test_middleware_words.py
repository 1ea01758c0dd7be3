"""What middleware says badly: it is read as far as it can be, and never as less than was done."""

from __future__ import annotations

from typing import Any

import pytest

from salvor.runtime.outcome import Failed, OpenWrite
from salvor.tools.around import Failure, Output
from tests.runtime.test_middleware import World, driven, giving

pytestmark = pytest.mark.anyio

AFTER = pytest.mark.parametrize("after", [False, True])


@pytest.fixture
def world() -> World:
    return World()


class Mute:
    def __str__(self) -> str:
        raise RuntimeError("mute")


@AFTER
@pytest.mark.parametrize("message", [5, None, {"code": 5}, Mute(), "half \udcaf a pair"])
async def test_a_message_that_is_no_text_is_told_as_far_as_it_goes(
    world: World, message: Any, after: bool
) -> None:
    result, (completion,) = await driven(
        world.tool("write"), giving(lambda _: Failure(message=message), after=after)
    )

    assert isinstance(result, Failed)
    assert completion.extent == ("yes" if after else "no")
    assert world.seen == (["body 5"] if after else [])


async def test_a1_an_extent_that_is_none_says_nothing(world: World) -> None:
    def denied(_: Any) -> Failure:
        return Failure(message="no", extent="maybe")  # type: ignore[arg-type]

    result, completions = await driven(world.tool("write"), giving(denied, after=False))
    assert isinstance(result, OpenWrite)
    assert completions == []

    result, (completion,) = await driven(world.tool("read"), giving(denied))
    assert isinstance(result, Failed)
    assert completion.extent == "no"


@pytest.mark.parametrize("said", ["0", "soon", -1, float("nan"), object()])
async def test_a5_whatever_one_says_of_waiting_the_call_is_tried_again(
    world: World, said: Any
) -> None:
    def later(_: Any) -> Failure:
        return Failure(message="later", final=False, retry_after=said)

    result, completions = await driven(world.tool("write"), giving(later, after=False))

    assert isinstance(result, Failed)
    assert [one.extent for one in completions] == ["no"] * 3


async def test_an_output_that_raises_when_it_is_read_does_not_fit(world: World) -> None:
    class Odd(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("odd")

        def __iter__(self) -> Any:
            raise RuntimeError("odd")

    result, (completion,) = await driven(
        world.tool("write"),
        giving(lambda _: Output(Odd(a=1))),
    )

    assert isinstance(result, Failed)
    assert completion.extent == "yes"
