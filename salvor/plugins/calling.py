"""One plugin's hooks, checked and called: no other plugin sees them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, get_args

import pluggy

from salvor.errors import Extent, PluginError
from salvor.plugins import hooks
from salvor.plugins.discovery import Found
from salvor.plugins.hooks import GROUP, Plugin
from salvor.tools.around import Middleware
from salvor.tools.foreign import Verdict, fault_of_name

NAMES = tuple(sorted(name for name in vars(hooks) if name.startswith("salvor_")))
EXTENTS = get_args(Extent)
_MARK = f"{GROUP}_impl"


class Hooks:
    """The hooks of one plugin, in a manager of its own.

    So no plugin can shadow, break or half-register another one.

    Attributes:
        implemented: The names of those it implements, as soon as it is imported.
    """

    def __init__(self, found: Found) -> None:
        self._found = found
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hooks)
        self.implemented: tuple[str, ...] = ()

    def load(self) -> None:
        """Import the plugin and check what it says it implements.

        Raises:
            PluginError: it implements nothing, or something that does not exist.
            BaseException: whatever importing it raises.
        """
        value = self._found.entry.value
        if not _names_an_object(value):
            raise PluginError(
                f"its entry point names {value!r}, and has to name MODULE or MODULE:NAME."
            )
        loaded = self._found.entry.load()
        marked, unmarked = _functions(loaded)
        self.implemented = tuple(name for name in NAMES if name in marked)
        if isinstance(loaded, type):
            raise PluginError(
                f"{value} is a class.", hint="Let the entry point name an instance or a module."
            )
        _check_names(value, marked, unmarked)
        try:
            self._manager.register(loaded, name=self._found.id)
        except pluggy.PluginValidationError as error:
            raise _of_another_version(value, error) from None
        _check_pending(self._manager, value, marked)

    def register_tools(self, plugin: Plugin) -> None:
        """Let it add its tools to ``plugin.registry``.

        Raises:
            PluginError: it cannot add any, or gives back something that nobody takes.
        """
        for implementation in self._manager.hook.salvor_register_tools.get_hookimpls():
            if "plugin" not in (*implementation.argnames, *implementation.kwargnames):
                raise PluginError(
                    "salvor_register_tools takes no parameter plugin, so it can add nothing.",
                    hint="Write def salvor_register_tools(plugin).",
                )
        for given in self._call("salvor_register_tools", plugin):
            raise PluginError(
                f"salvor_register_tools gave back a {type(given).__name__}, and nobody takes it.",
                hint="Add each tool to plugin.registry, and return nothing.",
            )

    def middleware(self, plugin: Plugin) -> Middleware | None:
        """The middleware it gives, if any.

        Raises:
            PluginError: what it gave cannot stand around a call.
        """
        given = self._call("salvor_middleware", plugin)
        for middleware in given:
            if not _is_async(middleware):
                raise PluginError(
                    f"salvor_middleware gave {middleware!r}, which is not an async function.",
                    hint="Return an async def of the parameters call and next.",
                )
            return middleware  # type: ignore[no-any-return]  # checked as far as it can be
        return None

    def exceptions(self, plugin: Plugin) -> dict[str, Verdict]:
        """What it says of exceptions.

        Raises:
            PluginError: it cannot be said that way.
        """
        said: dict[str, Verdict] = {}
        for table in self._call("salvor_exceptions", plugin):
            if not isinstance(table, Mapping):
                raise PluginError(
                    f"salvor_exceptions gave {table!r}, which is not a mapping.",
                    hint="Return {'acme.Refused': Verdict('no', final=True)}.",
                )
            for name, verdict in table.items():
                said[name] = _checked(name, verdict)
        return said

    def _call(self, name: str, plugin: Plugin) -> list[Any]:
        results: list[Any] = getattr(self._manager.hook, name)(plugin=plugin)
        for result in results:
            if inspect.iscoroutine(result):
                result.close()
                raise PluginError(f"{name} is async, and nobody awaits it.", hint="Write a def.")
        return results


def _checked(name: object, verdict: object) -> Verdict:
    fault = fault_of_name(name)
    if fault is not None:
        raise PluginError(f"salvor_exceptions names {name!r}: {fault}.")
    if not isinstance(verdict, Verdict) or verdict.extent not in EXTENTS:
        raise PluginError(
            f"salvor_exceptions says {verdict!r} of {name}.",
            hint="Say Verdict('no'), Verdict('yes') or Verdict('unknown').",
        )
    return verdict


def _functions(loaded: Any) -> tuple[set[str], set[str]]:
    """The names of what carries our mark, and of what looks like a hook and does not."""
    marked: set[str] = set()
    unmarked: set[str] = set()
    for name in dir(loaded):
        value = inspect.getattr_static(loaded, name)
        function = getattr(value, "__func__", value)
        mark = getattr(function, _MARK, None)
        if mark is not None:
            marked.add(mark.get("specname") or name)
        elif name in NAMES and callable(function):
            unmarked.add(name)
    return marked, unmarked


_names_an_object = re.compile(r"[\w.]+(\s*:\s*[\w.]+)?(\s*\[.*\])?\s*").fullmatch


def _of_another_version(value: str, error: pluggy.PluginValidationError) -> PluginError:
    hook = re.search("for hook '(.*?)'", str(error))
    unknown = sorted(set(re.findall(r"'(\w+)'", _last_line(error))))
    return PluginError(
        f"{value} implements {hook.group(1) if hook else 'a hook'} for another version of salvor: "
        f"there is no {' and no '.join(unknown)} to hand over.",
        hint="Every hook takes one parameter, plugin.",
    )


def _check_pending(manager: pluggy.PluginManager, value: str, marked: set[str]) -> None:
    try:
        manager.check_pending()
    except pluggy.PluginValidationError:
        strange = sorted(marked - set(NAMES))
        near = get_close_matches(strange[0], NAMES, n=1, cutoff=0.8) if strange else []
        raise PluginError(
            f"{value} implements a hook that does not exist: {', '.join(strange)}.",
            hint=f"Did you mean {near[0]}?" if near else f"The hooks are: {', '.join(NAMES)}.",
        ) from None


def _check_names(value: str, marked: set[str], unmarked: set[str]) -> None:
    if unmarked:
        raise PluginError(
            f"{value} defines {', '.join(sorted(unmarked))} and does not mark it as a hook.",
            hint="Decorate it with @salvor.hookimpl.",
        )
    if not marked:
        raise PluginError(
            f"{value} implements no hook of salvor.",
            hint="Mark a function salvor_register_tools(plugin) with @salvor.hookimpl.",
        )


def _is_async(function: Any) -> bool:
    called = inspect.getattr_static(type(function), "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
