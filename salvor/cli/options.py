"""Flags and argument types that verbs share."""

from __future__ import annotations

import getpass
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from salvor.errors import ArgumentsRefused, JsonRefused
from salvor.values import MAX_OUTPUT_BYTES, JsonValue, parse_json, parse_object, parse_run_id

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_STORE = "./salvor.db"
_STRICT = "salvor.strict-plugins"
_CONFIG = "salvor.config"


class Json(click.ParamType[JsonValue]):
    """JSON as text, or ``@FILE``. Its size is bounded by whoever uses it."""

    name = "JSON|@FILE"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> JsonValue:
        """Parse strictly; a fault is a usage error."""
        if not isinstance(value, str):
            given: JsonValue = value
            return given
        what = param.opts[0] if param is not None else "the value"
        text: str | bytes = value
        if value.startswith("@"):
            what, text = value[1:], self._file(value[1:], param, ctx)
        try:
            return self.parse(text, what)
        except JsonRefused as error:
            self.fail(error.message, param, ctx)

    def parse(self, text: str | bytes, what: str) -> JsonValue:
        """Any JSON value."""
        return parse_json(text, what=what, max_bytes=MAX_OUTPUT_BYTES)

    def _file(self, path: str, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if not path:
            self.fail("@ has to be followed by the name of a file.", param, ctx)
        try:
            with Path(path).open("rb") as file:
                return file.read(MAX_OUTPUT_BYTES + 1)  # an endless one is refused by its size
        except OSError as error:
            self.fail(f"{path!r} cannot be read: {error.strerror}.", param, ctx)


class JsonObjectType(Json):
    """Like `Json`, and it has to be an object."""

    def parse(self, text: str | bytes, what: str) -> JsonValue:
        """A JSON object."""
        return parse_object(text, what=what)


@contextmanager
def refused_with_next_step() -> Iterator[None]:
    """What is wrong with ``--input`` says how it is given."""
    try:
        yield
    except ArgumentsRefused as error:
        raise ArgumentsRefused(
            tool=error.tool,
            problems=error.problems,
            hint=error.hint or "--input takes them as a JSON object, or as @FILE that holds one.",
        ) from None


class RunId(click.ParamType[str]):
    """A run id, in any spelling of a UUID."""

    name = "RUN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Bring it into its one spelling."""
        try:
            return parse_run_id(value)
        except JsonRefused as error:
            self.fail(error.message, param, ctx)


class Words(click.ParamType[str]):
    """Text that says something."""

    name = "TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what is blank."""
        if not str(value).strip():
            self.fail("it has to say something, and is blank.", param, ctx)
        return str(value)


class Days(click.FloatRange):
    """A time in days, as far back as a calendar goes."""

    name = "DAYS"

    def __init__(self) -> None:
        super().__init__(min=0, max=365_000)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Refuse what is no number of days, as NaN."""
        days: float = super().convert(value, param, ctx)
        if math.isnan(days):
            self.fail(f"{value!r} is no number of days.", param, ctx)
        return days


def _keep_store(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(dict)["store"] = value


def store_option(command: F) -> F:
    """``--store``, before or after the verb; what stands nearest to the verb's end wins."""
    return click.option(
        "--store",
        metavar="PATH|URL",
        expose_value=False,
        callback=_keep_store,
        help=f"Where runs are kept: a path or a URL. [env: SALVOR_STORE; default: {DEFAULT_STORE}]",
    )(command)


def strict_option(command: F) -> F:
    """``--strict-plugins``, before the verb."""
    return click.option(
        "--strict-plugins",
        is_flag=True,
        expose_value=False,
        callback=_keep_strict,
        help="Stop at the first plugin that is broken. [env: SALVOR_STRICT_PLUGINS]",
    )(command)


def _keep_strict(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_STRICT] = True


def strict_asked() -> bool | None:
    """Whether ``--strict-plugins`` was given; `None` leaves it to the environment."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.meta.get(_STRICT)


def config_option(command: F) -> F:
    """``--config``, before the verb."""
    return click.option(
        "--config",
        metavar="PATH",
        expose_value=False,
        callback=_keep_config,
        help="The operator's file. [env: SALVOR_CONFIG; default: ./salvor.toml if it is there]",
    )(command)


def _keep_config(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[_CONFIG] = value


def config_asked() -> str | None:
    """The file that ``--config`` names; `None` leaves it to the environment."""
    ctx = click.get_current_context(silent=True)
    return None if ctx is None else ctx.meta.get(_CONFIG)


def _name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "operator"


by_option = click.option(
    "--by",
    type=Words(),
    default=_name,
    metavar="NAME",
    help="Who says so; by default the user's login name.",
)
park_option = click.option(
    "--park",
    type=click.IntRange(min=0),
    metavar="SEQ",
    help="The park that is answered, by its event; by default the one the run rests at.",
)
run_argument = click.argument("run_id", metavar="RUN", type=RunId())
