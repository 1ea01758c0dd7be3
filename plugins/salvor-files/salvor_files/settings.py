"""What the operator says about the files."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field, field_validator

KIB, MIB = 1024, 1024 * 1024


class Settings(BaseModel):
    """The table ``[plugins.salvor-files]``.

    Attributes:
        root: The directory outside of which nothing is read or written. It has to exist.
        read_only: Leave out the tools that change files.
        prefix: Put before the name of every tool.
        max_file_bytes: The size up to which files are written, and searched.
        max_read_bytes: How much one call of ``read_file`` gives back.
        max_entries: How many entries, or matches, one call gives back.
        max_visited: How many entries one call looks at.
        max_searched_bytes: How much one call of ``search_files`` reads.
    """

    root: Path
    read_only: bool = False
    prefix: str = ""
    max_file_bytes: int = Field(default=16 * MIB, ge=1)
    max_read_bytes: int = Field(default=256 * KIB, ge=4, le=MIB)
    max_entries: int = Field(default=1000, ge=1, le=10_000)
    max_visited: int = Field(default=100_000, ge=1)
    max_searched_bytes: int = Field(default=256 * MIB, ge=1)

    @field_validator("root")
    @classmethod
    def _existing(cls, root: Path) -> Path:
        if not root.is_absolute():
            raise ValueError("has to be an absolute path")
        if not root.is_dir():
            raise ValueError("has to be a directory that exists")
        return root.resolve()
