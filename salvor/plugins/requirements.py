"""Whether what a distribution requires is installed, and in a version that will do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from salvor.errors import PluginError
from salvor.plugins.discovery import HOST, Found, normalised
from salvor.version import __version__


def unmet_host(found: Found) -> None:
    """See that a plugin can live with this version of salvor, before it is imported.

    Raises:
        PluginError: naming what it requires and what is here.
    """
    missing = unmet(_requires(found.entry.dist), {HOST: __version__}, only=HOST)
    if missing:
        raise PluginError(
            f"{found.distribution} {found.version} {missing[0]}.",
            hint=f"Install a version of {found.distribution} or of {HOST} that fits.",
        )


def unmet(
    requires: tuple[str, ...], versions: Mapping[str, str], *, only: str | None = None
) -> tuple[str, ...]:
    """What is required and not there, each as ``requires NAME>=2, and 1.0 is installed``.

    Args:
        requires: Requirements as a distribution's metadata states them.
        versions: What is installed, by normalised name.
        only: Look at the requirements of this distribution alone.
    """
    said = []
    for text in requires:
        requirement = _requirement(text)
        if requirement is None or not _applies(requirement):
            continue
        name = normalised(requirement.name)
        if only is not None and name != only:
            continue
        version = versions.get(name)
        wanted = f"requires {requirement.name}{requirement.specifier}"
        if version is None:
            said.append(f"{wanted}, which is not installed")
        elif not requirement.specifier.contains(version, prereleases=True):
            said.append(f"{wanted}, and {version} is installed")
    return tuple(said)


def _requires(distribution: Any) -> tuple[str, ...]:
    return tuple(getattr(distribution, "requires", None) or ())


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})
