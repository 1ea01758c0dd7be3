"""Tools with the types that exports meet."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from salvor.tools.decorator import tool


class Style(Enum):
    DOT = "dot"
    DASH = "dash"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str | None = None


class Place(BaseModel):
    name: str
    inner: list[Place] = []


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


@tool(effect="read")
def plain(claim_id: str, note: str | None = None, limit: int = 5) -> Place:
    """Look a claim up."""
    return Place(name=claim_id)


@tool(effect="write")
def drawn(
    style: Annotated[Style, Field(description="how")] = Style.DOT,
    fill: Annotated[Style | None, Field(description="inside")] = None,
) -> None:
    """Draw."""


@tool(effect="write")
def kept(pet: Pet, other: Pet | None = None, pets: list[Cat | Dog] = []) -> None:  # noqa: B006
    """Keep a pet."""


@tool(effect="read")
def walked(place: Place, start: Place | None = None) -> None:
    """Walk."""


@tool(effect="read")
def measured(
    day: date,
    at: datetime | None = None,
    amount: Annotated[Decimal, Field(ge=0)] = Decimal(1),
    code: Annotated[str, Field(min_length=2, max_length=4)] = "ab",
    blob: bytes = b"",
    mixed: Literal["a", 1, True] = "a",
    count: Annotated[int, Field(gt=0, le=9)] = 3,
) -> None:
    """Measure."""


@tool(effect="read")
def nothing() -> None:
    """Do nothing."""


@tool(effect="read")
def everything(
    style: Annotated[Style, Field(description="how")] = Style.DOT,
    pet: Pet | None = None,
    place: Place | None = None,
    pair: tuple[int, str] = (1, "a"),
    anything: list[Any] = [],  # noqa: B006
    pairs: dict[str, int] = {},  # noqa: B006
) -> list[Place]:
    """Take everything."""
    return []


STRICT = (plain, drawn, kept, walked, measured, nothing)
