"""A ledger, as tools for salvor."""

# --8<-- [start:tools]
from pathlib import Path

from pydantic import BaseModel

import salvor
from salvor.plugins.hooks import Plugin


class Ledger:
    """Tools over one ledger file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @salvor.tool(effect="write", idempotency_key="entry_id")
    def enter(self, entry_id: str, amount_cents: int) -> str:
        """Enter an amount into the ledger.

        Args:
            entry_id: What the entry is for; one entry is made for it.
            amount_cents: How much, in cents; less than 0 takes away.
        """
        with self._path.open("a") as ledger:
            ledger.write(f"{entry_id} {amount_cents}\n")
        return f"{entry_id} is entered"

    @salvor.tool(effect="read")
    def balance(self) -> int:
        """Add up the ledger, in cents."""
        if not self._path.exists():
            return 0
        return sum(int(line.split()[-1]) for line in self._path.read_text().splitlines())


# --8<-- [end:tools]
# --8<-- [start:plugin]
class Settings(BaseModel):
    """The table ``[plugins.acme-ledger]`` of the operator's file."""

    path: Path


@salvor.hookimpl
def salvor_register_tools(plugin: Plugin) -> None:
    """Add the tools over the operator's ledger."""
    settings = plugin.config(Settings)
    plugin.registry.add(Ledger(settings.path), prefix="acme_ledger_")


# --8<-- [end:plugin]
