"""A far side for tests: a file with one line for each effect, that outlives any process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from salvor.errors import NotInjected
from salvor.testing.crash import crash_here
from salvor.tools.context import Context

VARIABLE: Final = "SALVOR_LEDGER"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One effect.

    Attributes:
        text: What was done.
        key: The key it was done under, if it was handed on.
        position: The intent of the call that did it, `None` outside a call.
    """

    text: str
    key: str | None = None
    position: int | None = None

    def __str__(self) -> str:
        return self.text if self.key is None else f"{self.text} (key {self.key})"


class Ledger:
    """Effects in a file, in order. An entry is made once for each key.

    Args:
        path: The file; made by the first entry.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0

    @classmethod
    def here(cls) -> Ledger:
        """The ledger of the scene a crash matrix runs this process in.

        Raises:
            RuntimeError: no crash matrix started this process.
        """
        path = os.environ.get(VARIABLE)
        if path is None:
            raise RuntimeError(
                f"there is no ledger: {VARIABLE} is set in the processes of a crash matrix only."
            )
        return _opened.setdefault(path, cls(Path(path)))

    def enter(self, text: str, *, key: str | None = None) -> bool:
        """Make an entry, durably; whether there was none yet under that key.

        Args:
            text: What was done.
            key: What a far side that keeps its promise goes by. Without a key, each call is
                an effect of its own.
        """
        self._count += 1
        place = f"entry {self._count}"
        crash_here(place, "before")
        if key is not None and any(entry.key == key for entry in self.entries()):
            return False
        entry = {"text": text, "key": key, "position": _position()}
        line = f"{json.dumps(entry)}\n".encode()
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, b"\n" + line[:10])  # whatever a torn line before it left
            crash_here(place, "during")
            os.write(descriptor, line[10:])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        crash_here(place, "after")
        return True

    def entries(self) -> list[Entry]:
        """All whole entries, in order; one that a crash cut off did not happen."""
        if not self._path.exists():
            return []
        lines = self._path.read_text("utf-8").splitlines()
        return [Entry(**json.loads(line)) for line in lines if line.endswith("}")]


_opened: dict[str, Ledger] = {}


def _position() -> int | None:
    try:
        return Context.current().position
    except NotInjected:
        return None
