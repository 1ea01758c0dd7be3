"""The operator's word: on every source, by the name here, or refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field

from salvor.errors import ArgumentsRefused, ConfigError, ToolDefinitionError
from salvor.registry.naming import Naming
from salvor.registry.operators import Difference, Word
from salvor.registry.registry import Registry
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from tests.registry.sources import server


@tool(effect="idempotent", idempotency_key="claim")
def pay(claim: str, note: str = "") -> None:
    """Pay."""


@tool(effect="read")
def find(claim: str) -> None:
    """Find."""


@pytest.fixture
def registry() -> Registry:
    made = Registry()
    made.add(pay)
    made.add(find)
    made.merge(server("mcp:gh", "create", naming=Naming(prefix="gh_"), effect="read"))
    return made


def test_the_operators_word_wins_on_every_source(registry: Registry) -> None:
    registry.operate({"pay": Word(effect="write"), "gh_create": Word(effect="idempotent")})

    assert registry.get("pay").effect == "write"
    assert registry.get("gh_create").effect == "idempotent"
    assert registry.for_function(pay) is registry.get("pay")
    assert registry.of_source("mcp:gh", "create") == (registry.get("gh_create"),)
    assert pay.__salvor_tool__.effect == "idempotent"  # type: ignore[attr-defined]


def test_what_the_operator_leaves_out_stays_as_declared(registry: Registry) -> None:
    registry.operate({"pay": Word(timeout=30.0, retry=Retry(attempts=2))})
    meta = registry.get("pay").meta

    assert (meta.effect, meta.idempotency_key) == ("idempotent", "claim")
    assert (meta.timeout, meta.retry) == (30.0, Retry(attempts=2))


def test_a_key_is_taken_from_the_arguments_by_their_names_in_json(registry: Registry) -> None:
    registry.operate({"gh_create": Word(effect="write", key=("claim",), claim_scope="issues")})
    found = registry.get("gh_create")

    assert found.key({"claim": "a", "note": "x"}) == '{"claim":"a"}'
    assert found.claim_scope == "issues"
    with pytest.raises(ArgumentsRefused):
        found.key({"note": "x"})


def test_the_word_is_part_of_what_a_tool_is(registry: Registry) -> None:
    before = registry.get("pay").digest

    registry.operate({"pay": Word(effect="write")})
    effect = registry.get("pay").digest
    registry.operate({"pay": Word(effect="write", key=("claim",))})

    assert len({before, effect, registry.get("pay").digest}) == 3


def test_a_later_word_takes_the_place_of_an_earlier_one_on_the_same_tool(
    registry: Registry,
) -> None:
    registry.operate({"pay": Word(effect="write"), "gh_create": Word(effect="write")})
    registry.operate({"pay": Word(timeout=2.0)})

    assert (registry.get("pay").effect, registry.get("pay").meta.timeout) == ("idempotent", 2.0)
    assert [one.option for one in registry.differences("pay")] == ["timeout"]
    assert [one.option for one in registry.differences("gh_create")] == ["effect"]


def test_a_key_goes_by_the_names_in_json_also_where_parameters_have_each_others() -> None:
    def move(
        source: Annotated[str, Field(alias="target")],
        target: Annotated[str, Field(alias="source")],
    ) -> None:
        """Move."""

    registry = Registry()
    registry.add_function(move, effect="write")

    registry.operate({"move": Word(key="source")})

    assert registry.get("move").key({"source": "a", "target": "b"}) == '{"source":"a"}'


def test_what_differs_is_shown_with_both_sides(registry: Registry) -> None:
    registry.operate(
        {
            "pay": Word(effect="idempotent", key=("claim",), retry=Retry(attempts=2)),
            "gh_create": Word(effect="write", key="claim", timeout=1.5),
        }
    )

    assert registry.differences("find") == ()
    assert registry.differences("pay") == (
        Difference(option="key", declared="claim", operator="claim"),
        Difference(option="retry", declared="none", operator="2 attempts, backoff 0.5 s"),
    )
    assert registry.differences("gh_create") == (
        Difference(option="effect", declared="read", operator="write"),
        Difference(option="key", declared="none", operator="claim"),
        Difference(option="timeout", declared="none", operator="1.5 s"),
    )


def test_the_word_also_holds_for_what_is_added_later_under_the_name() -> None:
    registry = Registry()
    registry.add(find)
    registry.operate({"find": Word(timeout=3.0)})

    registry.add_function(find, effect="write", name="find", replace=True)

    assert registry.get("find").meta.timeout == 3.0
    assert registry.get("find").effect == "write"


def faults(registry: Registry, **words: Word) -> list[str]:
    before = registry.tools()
    with pytest.raises(ConfigError) as caught:
        registry.operate(words, source="salvor.toml")
    assert registry.tools() == before
    assert str(caught.value).startswith("salvor.toml: ")
    return list(caught.value.faults)


def test_every_fault_is_told_at_once_and_nothing_changes(registry: Registry) -> None:
    found = faults(
        registry,
        pya=Word(effect="write", place="line 3: "),
        find=Word(key="claim"),
        gh_create=Word(effect="write", key="claims"),
        pay=Word(effect="write"),
    )

    assert len(found) == 3
    assert found[0] == (
        "line 3: [tools.\"pya\"]: there is no tool of that name. Did you mean 'pay'?"
    )
    assert "a read tool takes no idempotency_key" in found[1]
    assert "names no required parameter 'claims'" in found[2]


@pytest.mark.parametrize(
    ("name", "word", "reason"),
    [
        ("pay", Word(effect="read"), "a read tool takes no idempotency_key"),
        ("pay", Word(key="note"), "names no required parameter 'note'"),
        ("pay", Word(key="claim.id"), "string values have no fields"),
        ("pay", Word(effect="destroy"), "effect has to be"),  # type: ignore[arg-type]
        ("pay", Word(claim_scope=" "), "claim_scope has to be"),
        ("pay", Word(timeout=-1.0), "timeout has to be"),
        ("nothing_like_it", Word(), "has to be in [tools] modules"),
    ],
)
def test_what_cannot_be_meant_of_a_tool_is_refused(
    registry: Registry, name: str, word: Word, reason: str
) -> None:
    [fault] = faults(registry, **{name: word})

    assert reason in fault


def test_the_operator_may_not_make_two_tools_claim_the_same_keys(registry: Registry) -> None:
    [other] = registry.merge(server("mcp:gh", "create", naming=Naming(prefix="b_")))
    both: Any = {name: Word(effect="write", key="claim") for name in ("gh_create", other.name)}

    assert "claim the same keys" in faults(registry, **both)[0]
    registry.operate({**both, other.name: Word(key="claim", claim_scope="b")})
    assert registry.get("b_create").claim_scope == "b"


def test_tools_of_two_servers_may_be_keyed_under_one_name_of_theirs() -> None:
    registry = Registry()
    registry.merge(server("mcp:a", "pay", naming=Naming(prefix="a_"), key="claim"))
    registry.merge(server("mcp:b", "pay", naming=Naming(prefix="b_"), key="claim"))

    assert [one.claim_scope for one in registry] == ["mcp:a/pay", "mcp:b/pay"]


def test_a_later_tool_that_the_word_does_not_fit_is_not_added() -> None:
    registry = Registry()
    registry.add(find)
    registry.operate({"find": Word(effect="write", key="claim")})

    @tool(effect="write", name="find")
    def other(name: str) -> None:
        """Find."""

    with pytest.raises(ToolDefinitionError, match="no required parameter"):
        registry.add(other, replace=True)
    assert registry.for_function(find).effect == "write"
