"""`salvor.toml`: the operator's file, as frozen models."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from salvor.errors import ConfigError
from salvor.toml_lines import lines_of, place_of

VARIABLE: Final = "SALVOR_CONFIG"
DEFAULT_PATH: Final = "salvor.toml"
MAX_BYTES: Final = 1024 * 1024

_duration = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)").fullmatch
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

_Text = Annotated[str, Strict(), Field(min_length=1)]
_Texts = Annotated[tuple[_Text, ...], Strict(False)]
_Effects = Annotated[
    tuple[Literal["read", "idempotent", "write"], ...], Strict(False), Field(min_length=1)
]


def _seconds(value: Any) -> Any:
    match = _duration(value) if isinstance(value, str) else None
    if match is not None:
        return float(match[1]) * _UNITS[match[2]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError('a number of seconds, or text such as "30s", "1.5m" or "200ms"')
    return value


_Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, lt=1e9, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class RetrySettings(_Table):
    """``retry`` of one tool.

    Attributes:
        attempts: Executions in all, the first one included.
        backoff: Seconds before the second execution.
    """

    attempts: int = Field(default=3, ge=1)
    backoff: float = Field(default=0.5, ge=0, le=3600)


class ToolSettings(_Table):
    """``[tools."name"]``: the operator's word on one tool, of whatever source.

    Attributes:
        effect: What a call does to the world.
        key: The fields of the arguments that say which call it is.
        claim_scope: The name under which its keys are claimed.
        retry: How often a failed call is tried.
        timeout: Seconds to wait for a call.
        approval: Whether a person has to say yes to each call.
    """

    effect: Literal["read", "idempotent", "write"] | None = None
    key: _Text | _Texts | None = None
    claim_scope: _Text | None = None
    retry: RetrySettings | None = None
    timeout: _Seconds | None = None
    approval: bool | None = None


class ApprovalSettings(_Table):
    """One ``[[approvals]]``: calls that a person has to say yes to first.

    Attributes:
        tools: Patterns of tool names, such as ``pay_*``; all by default.
        effect: One effect or several; all by default.
        when: By argument, the JSON Schema it has to fit for the rule to hold.
        deadline: Seconds to approve; after that it is a no.
    """

    tools: _Text | _Texts | None = None
    effect: Literal["read", "idempotent", "write"] | _Effects | None = None
    when: dict[str, dict[str, Any]] = Field(default_factory=dict)
    deadline: _Seconds | None = None


Settings: TypeAlias = Mapping[str, Any]


class Config(_Table):
    """What the operator says.

    Attributes:
        modules: Modules whose tools are added: dotted names, or ``.py`` files.
        tools: By the name a tool has here, the operator's word on it.
        allow_plugins: Only these plugins load; `None` allows all.
        block_plugins: None of these plugins loads.
        plugins: By the normalised name of a distribution, the settings of its plugins.
        approvals: Which calls a person has to say yes to first.
        source: The file, for messages.
        lines: By tool, the line its table begins at, or 0.
    """

    modules: tuple[str, ...] = ()
    tools: Mapping[str, ToolSettings] = Field(default_factory=dict)
    allow_plugins: tuple[str, ...] | None = None
    block_plugins: tuple[str, ...] = ()
    plugins: Mapping[str, Settings] = Field(default_factory=dict)
    approvals: tuple[ApprovalSettings, ...] = ()
    source: str = DEFAULT_PATH
    lines: Mapping[str, int] = Field(default_factory=dict)


def find_config(
    path: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: str | os.PathLike[str] = "",
) -> Config:
    """The operator's word: of a file that is named, or of ``./salvor.toml`` if it is there.

    Args:
        path: The file; by default what ``SALVOR_CONFIG`` names. A variable that is empty
            stands for no file at all.
        environ: The environment; by default that of the process.
        folder: Where ``salvor.toml`` is looked for; by default the current directory.

    Raises:
        ConfigError: the file cannot be read, or says what it must not.
    """
    variables = os.environ if environ is None else environ
    named = path if path is not None else variables.get(VARIABLE)
    if named is not None:
        return load_config(named) if os.fspath(named) else Config()
    beside = Path(folder, DEFAULT_PATH)
    return load_config(beside) if beside.exists() else Config()


def load_config(path: str | os.PathLike[str]) -> Config:
    """Read one file.

    Raises:
        ConfigError: with every fault and, where it can be told, its line.
    """
    source = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            read = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(source=source, faults=[f"it cannot be read: {error.strerror}."]) from None
    if len(read) > MAX_BYTES:
        raise ConfigError(source=source, faults=[f"it is larger than {MAX_BYTES:,} bytes."])
    try:
        text = read.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = f"it is not UTF-8: byte {error.start:,} cannot be read."
        raise ConfigError(source=source, faults=[fault]) from None
    return parse_config(text, source=source)


def parse_config(text: str, *, source: str = DEFAULT_PATH) -> Config:
    """The operator's word of a text in TOML.

    Args:
        text: The text.
        source: Its file, for messages and for ``.py`` files in ``modules``.

    Raises:
        ConfigError: with every fault and, where it can be told, its line.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source=source, faults=[f"it is no TOML: {error}."]) from None
    except RecursionError:
        raise ConfigError(source=source, faults=["it is nested too deeply."]) from None
    return _Reader(found, text, source).config()


class _Reader:
    def __init__(self, root: dict[str, Any], text: str, source: str) -> None:
        self._root = root
        self._lines = lines_of(text)
        self._source = source
        self._faults: list[str] = []

    def config(self) -> Config:
        self._known(self._root, ("tools", "plugins", "approvals"), ())
        tools = self._table(self._root, "tools", ())
        plugins = self._table(self._root, "plugins", ())
        made: dict[str, Any] = {
            "modules": self._texts(tools, "modules", ("tools",)) or (),
            "tools": self._tools(tools),
            "allow_plugins": self._texts(plugins, "allow", ("plugins",)),
            "block_plugins": self._texts(plugins, "block", ("plugins",)) or (),
            "plugins": self._plugins(plugins),
            "approvals": self._approvals(),
        }
        if self._faults:
            raise ConfigError(source=self._source, faults=self._faults)
        lines = {
            name: self._lines[("tools", name)]
            for name in made["tools"]
            if ("tools", name) in self._lines
        }
        return Config(**made, source=self._source, lines=lines)

    def _tools(self, tables: dict[str, Any]) -> dict[str, ToolSettings]:
        made = {}
        for name, table in self._tables(tables, "tools", ("modules",)):
            try:
                made[name] = ToolSettings.model_validate(table)
            except ValidationError as error:
                self._tell_all(error, ("tools", name))
        return made

    def _approvals(self) -> tuple[ApprovalSettings, ...]:
        found = self._root.get("approvals", [])
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            said = f"it has to be a list of tables, [[approvals]], got {_got(found)}."
            self._tell(("approvals",), said)
            return ()
        made = []
        for number, table in enumerate(found):
            try:
                made.append(ApprovalSettings.model_validate(table))
            except ValidationError as error:
                self._tell_all(error, ("approvals", str(number)), ApprovalSettings)
        return tuple(made)

    def _plugins(self, tables: dict[str, Any]) -> dict[str, Settings]:
        made: dict[str, Settings] = {}
        for name, table in self._tables(tables, "plugins", ("allow", "block")):
            normal = re.sub(r"[-_.]+", "-", name).lower()
            if normal in made:
                self._tell(("plugins", name), f"it is the same distribution as {normal!r} before.")
            made[normal] = table
        return made

    def _tables(
        self, found: dict[str, Any], key: str, options: tuple[str, ...]
    ) -> list[tuple[str, dict[str, Any]]]:
        """The tables in a table; what is none has to be an option of it."""
        tables = {name: held for name, held in found.items() if isinstance(held, dict)}
        self._known({name: found[name] for name in found if name not in tables}, options, (key,))
        return list(tables.items())

    def _table(self, found: dict[str, Any], key: str, at: tuple[str, ...]) -> dict[str, Any]:
        held = found.get(key, {})
        if isinstance(held, dict):
            return held
        self._tell((*at, key), f"it has to be a table, got {_got(held)}.")
        return {}

    def _texts(
        self, found: dict[str, Any], key: str, at: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        held = found.get(key)
        if held is None or isinstance(held, dict):
            return None
        if isinstance(held, list) and all(isinstance(one, str) and one.strip() for one in held):
            return tuple(held)
        self._tell((*at, key), f"it has to be a list of texts, got {_got(held)}.")
        return None

    def _known(
        self, found: Mapping[str, Any], options: tuple[str, ...], at: tuple[str, ...]
    ) -> None:
        for key in found:
            if key not in options:
                self._tell((*at, key), f"there is no such key. {_nearest(key, options)}")

    def _tell_all(
        self,
        error: ValidationError,
        at: tuple[str, ...],
        table: type[ToolSettings | ApprovalSettings] = ToolSettings,
    ) -> None:
        seen: set[tuple[str, ...]] = set()
        for fault in error.errors(include_url=False):
            step = fault["loc"][0] if fault["loc"] else ""
            within = fault["loc"][1:2] if step == "retry" else ()
            place = (*at, str(step), *map(str, within))
            if place in seen:
                continue
            seen.add(place)
            if fault["type"] == "extra_forbidden":
                model = RetrySettings if within else table
                near = _nearest(place[-1], tuple(model.model_fields))
                self._tell(place, f"there is no such key. {near}")
            else:
                self._tell(
                    place, f"it has to be {_expected(step, fault)}, got {_got(fault['input'])}."
                )

    def _tell(self, place: tuple[str, ...], what: str) -> None:
        line = place_of(self._lines, place)
        at = f"line {line}: " if line is not None else ""
        self._faults.append(f"{at}{_written(place)}: {what}")


def _expected(step: Any, fault: Any) -> str:
    if step == "key":
        return "the name of a field, or a list of them"
    message = str(fault["msg"]).removeprefix("Value error, ")
    return message.removeprefix("Input should be ")


def _nearest(key: str, options: tuple[str, ...]) -> str:
    near = get_close_matches(key, options, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(options)}."


def _written(place: tuple[str, ...]) -> str:
    return ".".join(
        step if re.fullmatch(r"[A-Za-z0-9_-]+", step) else f'"{step}"' for step in place
    )


def _got(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
