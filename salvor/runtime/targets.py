"""Targets: the names under which code is found again, ``MODULE:NAME`` or ``file.py:NAME``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from salvor.errors import TargetError
from salvor.runtime.causes import storable
from salvor.runtime.places import described, place_of


def target_of(fn: Any) -> str:
    """The target under which another process finds a function.

    Raises:
        TargetError: its file has a path that a log cannot hold.
    """
    module: str = fn.__module__
    if module != "__main__" and not Path(module).is_absolute():
        return f"{module}:{fn.__qualname__}"
    return f"{_recordable(Path(fn.__code__.co_filename))}:{fn.__qualname__}"


def split_target(target: str) -> tuple[str, str | None]:
    """A target's module or file, and the name in it if one is given."""
    place, colon, last = target.rpartition(":")
    name: str | None = last
    if not colon or last.endswith(".py"):
        place, name = target, None
    if not _is_place(place) or name == "":
        raise TargetError(
            f"a target has to be MODULE:NAME or file.py:NAME, got {target!r}.",
            hint="For example billing.flows:settle or ./flows.py:settle.",
        )
    return place, name


def _is_place(text: str) -> bool:
    return text.endswith(".py") or (all(text.split(".")) and not {"/", "\\", ":"} & set(text))


def load_module(place: str) -> ModuleType:
    """Import a module by dotted name, or a file that ends in ``.py``.

    Raises:
        TargetError: it cannot be found, or importing it failed, with whatever exception.
    """
    if not _is_place(place):
        raise TargetError(f"a module has to be a dotted name or a file.py, got {place!r}.")
    try:
        return _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except (TargetError, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        if not place.endswith(".py") and f"{place}.".startswith(f"{error.name}."):
            raise TargetError(
                f"there is no module {place!r}.",
                hint="A file has to end in .py."
                if Path(place).is_file()
                else "Run salvor where it can be imported, or name a file.py:NAME.",
            ) from None
        raise _failed(place, error) from error
    except BaseException as error:
        raise _failed(place, error) from error


def load_target(target: str) -> Any:
    """The object a full target names.

    Raises:
        TargetError: it cannot be loaded or has no such name.
    """
    place, name = split_target(target)
    if name is None:
        raise TargetError(f"the target {target!r} names no function.", hint="Add :NAME.")
    found: Any = load_module(place)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise TargetError(
                f"{place} has no {name!r}.",
                hint="Functions defined inside functions cannot be found again."
                if "<locals>" in name
                else _offered(found),
            ) from None
    return found


def _from_file(path: Path) -> ModuleType:
    name = _recordable(path)  # what its user calls it; no module that is imported is called so
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise TargetError(f"there is no file {name}.")
    imported = _imported_from(name)
    if imported is not None:
        return imported  # a second copy would have the same tools once more
    spec = importlib.util.spec_from_file_location(name, name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(Path(name).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python file.py` does: its neighbours can be imported
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _imported_from(name: str) -> ModuleType | None:
    """The module, by whatever name, that this process has made of a file already."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str) and file.endswith(".py") and str(Path(file).resolve()) == name:
            return module
    return None


def _recordable(path: Path) -> str:
    """The absolute path of a file, as a log can hold it."""
    absolute = str(path.resolve())
    if storable(absolute) != absolute:
        raise TargetError(
            f"the path {storable(absolute)} is not UTF-8, so no run can record it.",
            hint="Give the file, or its directory, another name.",
        )
    return absolute


def _failed(place: str, error: BaseException) -> TargetError:
    where = place_of(error)
    at = f" at {where}" if where is not None else ""
    return TargetError(f"importing {place} failed{at}: {described(error)}.", hint=_relative(error))


def _relative(error: BaseException) -> str | None:
    # A file has no package: `from . import x` asks for one that is called like the file.
    named = error.name if isinstance(error, ModuleNotFoundError) else None
    if named is None or not Path(named).is_absolute():
        return None
    return "A file that is named by its path imports its neighbours without a dot: `import NAME`."


def _offered(found: Any) -> str | None:
    names = [
        name
        for name, value in vars(found).items()
        if callable(value) and getattr(value, "__module__", None) == found.__name__
    ]
    return f"It has {', '.join(sorted(names)[:8])}." if names else None
