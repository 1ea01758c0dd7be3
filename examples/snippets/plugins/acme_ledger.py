"""A package of tools with settings and something it holds open."""

# --8<-- [start:plugin]
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel

import salvor
from salvor.plugins.hooks import Plugin


class Settings(BaseModel):
    path: Path


class Ledger:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.database: sqlite3.Connection | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        self.database = sqlite3.connect(self.path, check_same_thread=False)
        try:
            yield
        finally:
            self.database.close()

    @salvor.tool(effect="read")
    def ledger_version(self) -> str:
        """Tell which database the ledger is kept in."""
        assert self.database is not None
        [(version,)] = self.database.execute("SELECT sqlite_version()")
        return f"SQLite {version}"


@salvor.hookimpl
def salvor_register_tools(plugin: Plugin) -> None:
    ledger = Ledger(plugin.config(Settings).path)
    plugin.registry.add(ledger)
    plugin.lifespan(ledger.opened)


# --8<-- [end:plugin]
