"""Functions of several forms as tools."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict, Unpack

from salvor import Registry, tool

registry = Registry()


# --8<-- [start:docstring]
@tool(effect="read")
def find_claims(
    text: str,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    since: Annotated[str | None, "The first day, such as 2026-01-31."] = None,
) -> list[str]:
    """Find claims by a text in them.

    Args:
        text: What to look for.
        limit: How many at most.
    """
    return [f"claim of {text}"][:limit]


# --8<-- [end:docstring]


# --8<-- [start:unpack]
class Filters(TypedDict):
    """What to narrow a search by."""

    region: str
    status: NotRequired[str]


@tool(effect="read")
def count_claims(text: str, **filters: Unpack[Filters]) -> int:
    """Count claims that hold a text."""
    return len(text) + len(filters)


# --8<-- [end:unpack]


# --8<-- [start:partial]
def transfer(account: str, amount_cents: int) -> str:
    """Move money out of an account."""
    return f"{amount_cents} from {account}"


class Desk:
    """A desk of one region."""

    def __init__(self, region: str) -> None:
        self.region = region

    def __call__(self, text: str) -> str:
        """Ask the desk."""
        return f"{self.region}: {text}"


registry.add_function(
    partial(transfer, account="ops"),
    effect="write",
    name="transfer_from_ops",
)
registry.add_function(Desk("north"), effect="read", name="ask_north")
# --8<-- [end:partial]


# --8<-- [start:lint]
@tool(effect="read")
def list_regions(prefix: str = "") -> list[str]:
    """List the regions.

    Args:
        prefx: How their names begin.
    """
    return [name for name in ("north", "south") if name.startswith(prefix)]


def warnings() -> tuple[str, ...]:
    """What the docstring and the function disagree on."""
    return registry.for_function(list_regions).lint


# --8<-- [end:lint]
