"""A plugin's settings: the operator's table and the environment, checked by its own model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from salvor.errors import JsonRefused, PluginError
from salvor.values import parse_json

S = TypeVar("S", bound=BaseModel)


class Unconfigured(PluginError):
    """A plugin needs settings, and the operator has given it none at all."""


def read_settings(
    model: type[S],
    *,
    table: Mapping[str, Any],
    environ: Mapping[str, str],
    distribution: str,
) -> S:
    """Check a plugin's settings; no message holds a value, which may be a secret.

    Args:
        model: What the plugin expects.
        table: ``[plugins.<distribution>]`` of the operator's file.
        environ: The environment, whose variables win.
        distribution: The plugin's distribution.

    Raises:
        Unconfigured: something is required, and there are no settings at all.
        PluginError: with every fault and where it is.
    """
    given: Any = model
    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise PluginError(
            f"plugin.config takes a class of pydantic models, got {given!r}.",
            hint="Write class Settings(pydantic.BaseModel).",
        )
    keys = _keys(model)
    _refuse_unknown(table, keys, distribution)
    variables = {key: variable(distribution, key) for key in keys}
    texts = {key: environ[name] for key, name in variables.items() if name in environ}
    try:
        return _validated(model, table, texts)
    except ValidationError as error:
        faults = _faults(error, texts, variables)
        hint = f"They belong in [plugins.{distribution}] of salvor.toml, or in the environment."
        if not table and not texts:
            raise Unconfigured(f"it has no settings: {faults}.", hint=hint) from None
        raise PluginError(f"its settings do not fit: {faults}.", hint=hint) from None


def variable(distribution: str, key: str) -> str:
    """The variable of the environment that holds one setting."""
    return re.sub(r"[^A-Z0-9]+", "_", f"SALVOR_PLUGIN_{distribution}_{key}".upper())


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _refuse_unknown(table: Mapping[str, Any], keys: Iterable[str], distribution: str) -> None:
    unknown = sorted(set(table) - set(keys))
    if not unknown:
        return
    near = get_close_matches(unknown[0], list(keys), n=1)
    raise PluginError(
        f"[plugins.{distribution}] holds what it does not know: {', '.join(unknown)}.",
        hint=f"Did you mean {near[0]!r}?" if near else f"It knows: {', '.join(sorted(keys))}.",
    )


def _validated(model: type[S], table: Mapping[str, Any], texts: Mapping[str, str]) -> S:
    try:
        return model.model_validate({**table, **texts})
    except ValidationError as error:
        # Lists, tables and strict numbers are JSON in a variable; texts stay as they are.
        failing = {str(fault["loc"][0]) for fault in error.errors() if fault["loc"]}
        read = {key: _json(texts[key]) for key in failing & texts.keys()}
        if not read:
            raise
        return model.model_validate({**table, **texts, **read})


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except JsonRefused:
        return text


def _faults(error: ValidationError, texts: Mapping[str, str], variables: Mapping[str, str]) -> str:
    said = []
    for fault in error.errors(include_input=False, include_url=False, include_context=False):
        place = ".".join(map(str, fault["loc"]))
        key = str(fault["loc"][0]) if fault["loc"] else ""
        if fault["type"] == "missing" and len(fault["loc"]) == 1:
            said.append(f"{key} is missing (or {variables[key]})")
        elif key in texts:
            said.append(f"{variables[key]}: {fault['msg']}")
        else:
            said.append(f"{place}: {fault['msg']}" if place else fault["msg"])
    return "; ".join(said)
