"""`@tool`: what it stamps, what it refuses at once, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from typing import Any

import pytest

from salvor.errors import ToolDefinitionError
from salvor.tools.context import Depends
from salvor.tools.contract import Retry, ToolMeta
from salvor.tools.decorator import OPTIONS, tool, tool_meta


def declare(function: Any, **options: Any) -> ToolDefinitionError:
    options.setdefault("effect", "write")
    with pytest.raises(ToolDefinitionError) as caught:
        tool(**options)(function)
    return caught.value


def pay(claim_id: str, amount: int = 1) -> int:
    """Pay a claim."""
    return amount


def test_the_function_comes_back_untouched() -> None:
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    assert tool(effect="read")(add) is add
    assert add(1) == 3


def test_every_option_is_stamped() -> None:
    def close(claim: str, day: str) -> None:
        """Close."""

    tool(
        effect="idempotent",
        name="close-it",
        description="Closes.",
        idempotency_key=("claim", "day"),
        claim_scope="claims",
        retry=Retry(attempts=5, backoff=0),
        refusals=[ValueError],
        exceptions="failed",
        tags=["money"],
    )(close)

    assert tool_meta(close) == ToolMeta(
        effect="idempotent",
        name="close-it",
        description="Closes.",
        idempotency_key=("claim", "day"),
        claim_scope="claims",
        retry=Retry(attempts=5, backoff=0),
        refusals=(ValueError,),
        exceptions="failed",
        tags=("money",),
    )


def test_a_plain_function_carries_nothing() -> None:
    assert tool_meta(pay) is None
    assert tool_meta(len) is None


@pytest.mark.parametrize("effect", ["reads", "WRITE", "", 3, ["read"]])
def test_a_bad_effect_lists_the_three(effect: Any) -> None:
    assert "'read', 'idempotent' or 'write'" in declare(pay, effect=effect).reason


def test_a_refusal_names_file_line_and_function() -> None:
    error = declare(pay, effect="reads")

    assert error.where is not None
    assert error.where.startswith(f"{__file__}:")
    assert error.where.endswith(" pay")


def test_a_missing_effect_says_what_to_write() -> None:
    with pytest.raises(ToolDefinitionError, match=r"@tool needs an effect.*@tool\(effect="):
        tool()  # type: ignore[call-overload]


def test_the_bare_decorator_says_what_to_write() -> None:
    with pytest.raises(ToolDefinitionError, match=r"pay: @tool needs an effect") as caught:
        tool(pay)  # type: ignore[call-overload]

    assert caught.value.hint is not None


@pytest.mark.parametrize("option", ["verifies", "approve", "efect"])
def test_an_option_that_does_nothing_is_refused(option: str) -> None:
    with pytest.raises(ToolDefinitionError, match=f"no option '{option}'") as caught:
        tool(effect="read", **{option: 1})  # type: ignore[call-overload]

    assert all(name in str(caught.value) for name in OPTIONS)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"name": "no spaces"}, "a tool's name"),
        ({"name": "line\n"}, "a tool's name"),
        ({"name": "ä"}, "a tool's name"),
        ({"name": "x" * 65}, "a tool's name"),
        ({"name": 3}, "a tool's name"),
        ({"name": "salvor_answer"}, "reserved"),
        ({"name": "_salvor_x"}, "reserved"),
        ({"description": " "}, "description has to be"),
        ({"claim_scope": ""}, "claim_scope has to be"),
        ({"timeout": 0}, "timeout has to be a number of seconds"),
        ({"timeout": True}, "timeout has to be a number of seconds"),
        ({"timeout": float("inf")}, "timeout has to be a number of seconds"),
        ({"inline": 1}, "inline has to be True or False"),
        ({"inline": True, "timeout": 1.0}, "an inline tool takes no timeout"),
        ({"retry": 3}, "retry has to be a Retry"),
        ({"refusals": [3]}, "exception classes"),
        ({"refusals": KeyboardInterrupt}, "exception classes"),
        ({"exceptions": "final"}, "exceptions has to be"),
        ({"tags": [""]}, "tags has to be"),
        ({"tags": [3]}, "tags has to be"),
        ({"idempotency_key": ""}, "dotted path"),
        ({"idempotency_key": "claim_id..x"}, "dotted path"),
        ({"idempotency_key": 3}, "dotted path"),
        ({"idempotency_key": ()}, "dotted path"),
        ({"idempotency_key": ["claim_id"]}, "dotted path"),
        ({"idempotency_key": ("claim_id", "claim_id")}, "twice"),
        ({"idempotency_key": "claim"}, "names no required parameter 'claim'"),
        ({"idempotency_key": "amount"}, "names no required parameter 'amount'"),
        ({"idempotency_key": "claim_id", "effect": "read"}, "read tool takes no idempotency_key"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(options: dict[str, Any], reason: str) -> None:
    assert reason in declare(pay, **options).reason


@pytest.mark.parametrize(
    "values", [{"attempts": 0}, {"attempts": True}, {"backoff": -1}, {"backoff": True}]
)
def test_a_retry_that_cannot_be_meant_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        Retry(**values)


def test_the_key_hint_lists_the_required_parameters() -> None:
    assert "claim_id" in str(declare(pay, idempotency_key="clam_id").hint)


def generator(a: int) -> Iterator[int]:
    """Generate."""
    yield a


async def async_generator(a: int) -> AsyncIterator[int]:
    """Generate."""
    yield a


@pytest.mark.parametrize("function", [generator, async_generator])
def test_generators_are_refused(function: Callable[..., Any]) -> None:
    assert "generator" in declare(function).reason


def test_variadic_parameters_are_refused_by_name() -> None:
    def several(a: int, *rest: int) -> None:
        """Take several."""

    def named(a: int, *, b: int, **rest: int) -> None:
        """Take named ones."""

    assert declare(several).parameter == "rest"
    assert "a list parameter" in str(declare(several).hint)
    assert declare(named).parameter == "rest"
    assert "a dict parameter" in str(declare(named).hint)


def test_an_unannotated_parameter_is_refused_by_name() -> None:
    def untyped(a: int, b=2, *, c: int) -> None:  # type: ignore[no-untyped-def]
        """Do."""

    error = declare(untyped)

    assert error.parameter == "b"
    assert error.hint == "Write its type: b: str."


def test_a_dependency_needs_no_annotation() -> None:
    def query(sql: str, db=Depends(dict)) -> None:  # type: ignore[no-untyped-def]  # noqa: B008
        """Query."""

    assert tool(effect="read")(query) is query


def test_a_tool_without_any_description_is_refused() -> None:
    def silent(a: int) -> None: ...

    def blank(a: int) -> None:
        """ """

    assert "description" in declare(silent).reason
    assert "description" in declare(blank).reason
    assert tool(effect="read", description="It does.")(silent) is silent


def test_a_lambda_needs_a_name() -> None:
    assert "lambda" in declare(lambda: 1, description="One.").reason
    tool(effect="read", name="one", description="One.")(lambda: 1)


@pytest.mark.parametrize("thing", [3, "pay", None, int, type("Local", (), {})])
def test_what_is_no_function_is_refused(thing: Any) -> None:
    assert "a tool has to be a function" in declare(thing).reason


def test_a_builtin_is_sent_to_the_registry() -> None:
    assert "registry.add_function" in str(declare(len).hint)


def test_a_wrapper_is_judged_by_what_it_wraps() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    tool(effect="write", idempotency_key="claim_id")(logged(pay))
    assert "names no required parameter" in declare(logged(pay), idempotency_key="x").reason
    assert "generator" in declare(logged(generator)).reason


def test_a_stamped_function_may_be_wrapped_and_stamped_anew_but_not_twice() -> None:
    def once(a: int) -> None:
        """Do."""

    tool(effect="read")(once)

    @tool(effect="write")
    @wraps(once)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return once(*args, **kwargs)

    assert getattr(tool_meta(wrapper), "effect", None) == "write"
    assert getattr(tool_meta(once), "effect", None) == "read"
    assert "twice" in declare(once).reason


def test_methods_are_left_to_registering() -> None:
    class Desk:
        @tool(effect="read")
        def find(self, name):  # type: ignore[no-untyped-def]
            """Find."""

        @tool(effect="read")
        @classmethod
        def make(cls) -> None:
            """Make."""

        @staticmethod
        @tool(effect="read")
        def help() -> None:
            """Help."""

    assert tool_meta(Desk().find) is not None
    assert tool_meta(Desk.make) is not None
    assert tool_meta(Desk.help) is not None


def test_decorating_loads_neither_pydantic_nor_the_docstring_parser() -> None:
    script = (
        "import sys\n"
        "from salvor.tools.decorator import tool\n"
        "heavy = {'pydantic', 'docstring_parser', 'logging', 'jsonschema_rs'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
