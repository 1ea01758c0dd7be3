"""Machines that cost money, and a person who has to agree."""

# --8<-- [start:tools]
from pathlib import Path
from typing import Literal

from salvor import Run, tool, workflow

MACHINES = Path("machines.txt")


def is_big(asked: dict[str, object]) -> bool:
    """Whether a machine is worth a question."""
    return asked["size"] == "big"


@tool(effect="write", idempotency_key="name", approval=is_big)
def create_machine(name: str, size: Literal["small", "big"]) -> str:
    """Rent a machine."""
    with MACHINES.open("a") as file:
        file.write(f"{name} {size}\n")
    return name


@tool(effect="write", idempotency_key="name")
def delete_machine(name: str) -> str:
    """Give a machine back, with all that is on it."""
    return name


# --8<-- [end:tools]
# --8<-- [start:workflow]
@workflow
async def renting(run: Run, name: str, size: Literal["small", "big"]) -> str:
    """Rent a machine and give it back."""
    await run.call(create_machine, name=name, size=size)
    return await run.call(delete_machine, name=name)


# --8<-- [end:workflow]
