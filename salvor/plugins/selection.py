"""Which plugins may load: allow and block lists of the operator's file and the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from salvor.errors import PluginError
from salvor.plugins.discovery import Found, normalised

VARIABLE = "SALVOR_PLUGINS"
STRICT_VARIABLE = "SALVOR_STRICT_PLUGINS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What may load. A name is a distribution, an entry point, or ``distribution:entry``.

    Attributes:
        allow: Only these; `None` allows all.
        block: None of these, whatever is allowed.
    """

    allow: tuple[str, ...] | None = None
    block: tuple[str, ...] = ()

    def refusal(self, found: Found) -> str | None:
        """Why a plugin may not load; `None` when it may."""
        if any(_names(name, found) for name in self.block):
            return "it is on the block list"
        if self.allow is not None and not any(_names(name, found) for name in self.allow):
            return "it is not on the allow list"
        return None

    def unknown(self, found: Iterable[Found]) -> tuple[str, ...]:
        """The blocked names that no installed plugin has, each as a sentence."""
        plugins = tuple(found)
        return tuple(
            f"the block list names {name!r}, which is not installed.{_nearest(name, plugins)}"
            for name in self.block
            if not any(_names(name, one) for one in plugins)
        )

    def check(self, found: Iterable[Found]) -> None:
        """See that every allowed name is installed.

        Raises:
            PluginError: one is not, so what the operator relies on would be missing.
        """
        plugins = tuple(found)
        for name in self.allow or ():
            if not any(_names(name, one) for one in plugins):
                raise PluginError(
                    f"the allow list of plugins names {name!r}, which is not installed."
                    f"{_nearest(name, plugins)}",
                    hint="Install it, or take it off [plugins] allow or SALVOR_PLUGINS.",
                )


def selection(
    allow: Sequence[str] | None, block: Sequence[str], environ: Mapping[str, str]
) -> Selection:
    """Put the operator's lists and the environment together.

    ``SALVOR_PLUGINS`` holds names between commas. Names with a ``-`` before them are blocked
    as well; the others, or none at all, take the place of the allow list.
    """
    text = environ.get(VARIABLE)
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    allowed = tuple(word for word in words if not word.startswith("-"))
    blocked = tuple(word[1:].strip() for word in words if word.startswith("-"))
    if text is None or (blocked and not allowed):
        allowed_of_file = None if allow is None else tuple(allow)
        return Selection(allow=allowed_of_file, block=(*block, *blocked))
    return Selection(allow=allowed, block=(*block, *blocked))


def is_strict(given: bool | None, environ: Mapping[str, str]) -> bool:
    """Whether the first failure raises: what was asked for, else ``SALVOR_STRICT_PLUGINS``."""
    if given is not None:
        return given
    return environ.get(STRICT_VARIABLE, "").strip().lower() not in ("", "0", "false", "no")


def _names(name: str, found: Found) -> bool:
    distribution, colon, entry = name.partition(":")
    if colon:
        return normalised(distribution) == found.distribution and entry == found.entry.name
    return normalised(name) == found.distribution or name == found.entry.name


def _nearest(name: str, plugins: Iterable[Found]) -> str:
    known = {known for one in plugins for known in (one.distribution, one.entry.name)}
    near = get_close_matches(name, sorted(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
