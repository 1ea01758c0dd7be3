from __future__ import annotations

from typing import Any

import pytest

from salvor.errors import JsonRefused, ToolDefinitionError
from salvor.tools.approval import ApprovalRule, Asked, approval_of, is_yes, may_ask, note_of
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool


def pay(cents: int, note: str = "") -> str:
    """Pay."""
    return note


def declared(**options: Any) -> FunctionTool:
    def fresh(cents: int, note: str = "") -> str:
        """Pay."""
        return note

    tool(**{"effect": "write", "name": "pay_claim", **options})(fresh)
    return function_tool(fresh)


PAY = declared()


def test_without_a_rule_or_a_word_nobody_is_asked() -> None:
    assert approval_of(PAY, {"cents": 1}, ()) is None
    assert not may_ask(PAY, ())


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ({}, True),
        ({"tools": ("pay_*",)}, True),
        ({"tools": ("pay",)}, False),
        ({"tools": ("send_*", "pay_claim")}, True),
        ({"tools": ("PAY_*",)}, False),
        ({"effects": ("write",)}, True),
        ({"effects": ("read", "idempotent")}, False),
        ({"tools": ("pay_*",), "effects": ("read",)}, False),
    ],
)
def test_a_rule_holds_for_names_and_effects(rule: dict[str, Any], asks: bool) -> None:
    rules = (ApprovalRule(**rule),)

    assert may_ask(PAY, rules) is asks
    assert (approval_of(PAY, {"cents": 1}, rules) is not None) is asks


@pytest.mark.parametrize(
    ("arguments", "asks"),
    [
        ({"cents": 1}, False),
        ({"cents": 100}, True),
        ({"cents": 100, "note": "x"}, False),
        ({"cents": 100, "note": "urgent"}, True),
        ({"note": "urgent"}, True),
        ({}, True),
    ],
)
def test_a_rule_holds_for_arguments_that_fit_and_for_those_left_out(
    arguments: dict[str, Any], asks: bool
) -> None:
    when = {"cents": {"minimum": 100}, "note": {"pattern": "^urg"}}
    rules = (ApprovalRule(when=when),)  # type: ignore[arg-type]

    assert may_ask(PAY, rules)
    assert (approval_of(PAY, arguments, rules) is not None) is asks


def test_of_several_rules_that_hold_the_shortest_time_counts() -> None:
    rules = (
        ApprovalRule(deadline=60.0),
        ApprovalRule(),
        ApprovalRule(deadline=30.0),
        ApprovalRule(effects=("read",), deadline=1.0),
    )

    assert approval_of(PAY, {"cents": 1}, rules) == Asked(deadline=30.0)


def test_a_schema_that_cannot_be_used_is_named_with_its_place() -> None:
    with pytest.raises(JsonRefused, match=r"approvals\.0\.when\.cents: the JSON Schema"):
        ApprovalRule(when={"cents": {"type": "money"}}, place="approvals.0.")


@pytest.mark.parametrize(
    ("word", "cents", "asks"),
    [
        (True, 1, True),
        (False, 1, False),
        (lambda given: given["cents"] > 5, 1, False),
        (lambda given: given["cents"] > 5, 6, True),
        (lambda given: given["euros"] > 5, 1, True),
        (lambda given: None, 1, True),
    ],
)
def test_the_author_may_ask_and_a_faulty_predicate_asks(word: Any, cents: int, asks: bool) -> None:
    paying = declared(approval=word)

    assert may_ask(paying, ()) is (word is not False)
    assert (approval_of(paying, {"cents": cents}, ()) is not None) is asks


def test_a_predicate_cannot_change_the_arguments() -> None:
    given: Any = {"cents": 1}
    approval_of(declared(approval=lambda arguments: arguments.clear() or True), given, ())

    assert given == {"cents": 1}


def test_approval_takes_true_false_or_a_function() -> None:
    with pytest.raises(ToolDefinitionError, match="approval has to be True, False or a function"):
        tool(effect="write", approval="yes")(pay)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        ({"approved": True}, True),
        ({"approved": True, "note": "ok"}, True),
        ({"approved": False}, False),
        ({"approved": 1}, False),
        ({"approved": "true"}, False),
        ({}, False),
        (True, False),
        (None, False),
        ([True], False),
    ],
)
def test_d2_anything_but_an_explicit_yes_is_a_no(answer: Any, yes: bool) -> None:
    assert is_yes(answer) is yes


@pytest.mark.parametrize(
    ("answer", "note"),
    [({"approved": False, "note": "too much"}, "too much"), ({"note": 5}, None), (None, None)],
)
def test_what_is_said_with_an_answer_is_kept(answer: Any, note: str | None) -> None:
    assert note_of(answer) == note
