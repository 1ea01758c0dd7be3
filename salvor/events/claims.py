"""Claims: the right to execute one idempotency key, across runs and processes.

A claim is *held* while its holder's log has that intent open. What may follow is the
table of DURABILITY E3; the store carries a `ClaimChange` out in the transaction of the
append that causes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from salvor.errors import Extent

ClaimState = Literal["held", "committed", "failed", "released"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimId:
    """What a claim is for (DURABILITY E1).

    ``namespace`` is the operator's, ``scope`` the tool's (source id and original name, or
    its ``claim_scope``), ``key`` the canonical JSON text of the key object.
    """

    namespace: str
    scope: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One row of the claims table.

    ``run_id`` and ``intent_seq`` name the intent that holds or held the key; no two
    claimings share them, so they also name the generation. ``input_hash`` is the content
    hash of the arguments with integral floats as integers, ``output_hash`` and
    ``completion_seq`` point at the recorded output once the claim is committed.
    """

    id: ClaimId
    state: ClaimState
    effect: str
    run_id: str
    intent_seq: int
    input_hash: str
    generation: int
    extent: Extent | None = None
    completion_seq: int | None = None
    output_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeClaim:
    """none or released -> held, with the intent.

    Also failed(``unknown``) -> held when the tool is idempotent and the input is the same.
    """

    id: ClaimId
    effect: str
    run_id: str
    intent_seq: int
    input_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveClaim:
    """held -> held by a fresh intent of the same run (DURABILITY B3)."""

    id: ClaimId
    run_id: str
    intent_seq: int
    fresh_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleClaim:
    """held -> committed, failed or released, with the completion of the holding intent."""

    id: ClaimId
    run_id: str
    intent_seq: int
    to: Literal["committed", "failed", "released"]
    completion_seq: int
    extent: Extent | None = None
    output_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OverruleClaim:
    """An operator's word on a claim that no intent holds (DURABILITY E6).

    failed -> committed with ``output`` (canonical JSON text), or failed or committed with
    other extents; failed -> released, unless it happened. ``unreadable`` says that the log of
    the claim's holder cannot be read: only then is a claim changed that is held.
    """

    id: ClaimId
    generation: int
    to: Literal["committed", "failed", "released"]
    extent: Extent | None = None
    output: str | None = None
    output_hash: str | None = None
    unreadable: bool = False


ClaimChange: TypeAlias = TakeClaim | MoveClaim | SettleClaim | OverruleClaim


def may_take(claim: Claim | None, wanted: TakeClaim) -> bool:
    """Whether ``wanted`` may take the key as the table stands (DURABILITY E3)."""
    if claim is None or claim.state == "released":
        return True
    return (
        claim.state == "failed"
        and claim.extent == "unknown"
        and claim.effect == wanted.effect == "idempotent"
        and claim.input_hash == wanted.input_hash
    )


Verdict = Literal["copy", "collision", "failed", "busy"]


def judge(claim: Claim, wanted: TakeClaim) -> Verdict:
    """What a refused taking means for the call (DURABILITY E4, E5).

    ``copy``: the same call was executed, its output is the answer. ``collision``: the key
    was used for other arguments. ``failed``: it failed in a way that waits for an operator.
    ``busy``: another intent holds the key.
    """
    if claim.state == "held":
        return "busy"
    if claim.input_hash != wanted.input_hash:
        return "collision"
    return "copy" if claim.state == "committed" else "failed"
