"""Targets: the names under which code is found again, ``MODULE:NAME`` or ``file.py:NAME``."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from salvor.errors import TargetError

FROM_FILE = "salvor_target_"


def target_of(fn: Any) -> str:
    """The target under which another process finds a function."""
    module: str = fn.__module__
    if module == "__main__" or module.startswith(FROM_FILE):
        return f"{Path(fn.__code__.co_filename).resolve()}:{fn.__qualname__}"
    return f"{module}:{fn.__qualname__}"


def split_target(target: str) -> tuple[str, str | None]:
    """A target's module or file, and the name in it if one is given."""
    place, colon, name = target.rpartition(":")
    if not colon or (name.endswith(".py") and not name.isidentifier()):
        return target, None
    if not place or not name:
        raise TargetError(
            f"a target has to be MODULE:NAME or file.py:NAME, got {target!r}.",
            hint="For example billing.flows:settle or ./flows.py:settle.",
        )
    return place, name


def load_module(place: str) -> ModuleType:
    """Import a module by dotted name, or a file that ends in ``.py``.

    Raises:
        TargetError: it cannot be found, or importing it failed.
    """
    try:
        return _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except TargetError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (place == error.name or place.startswith(error.name + ".")):
            raise TargetError(
                f"there is no module {place!r}.",
                hint="Run salvor where it can be imported, or name a file.py:NAME.",
            ) from None
        raise _failed(place, error) from error
    except (Exception, SystemExit) as error:
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
    path = path.resolve()
    name = FROM_FILE + hashlib.sha256(str(path).encode()).hexdigest()[:16]
    if name in sys.modules:
        return sys.modules[name]
    if not path.is_file():
        raise TargetError(f"there is no file {path}.")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python file.py` does: its neighbours can be imported
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _failed(place: str, error: BaseException) -> TargetError:
    return TargetError(f"importing {place} failed: {type(error).__name__}: {error}.")


def _offered(found: Any) -> str | None:
    names = [
        name
        for name, value in vars(found).items()
        if callable(value) and getattr(value, "__module__", None) == found.__name__
    ]
    return f"It has {', '.join(sorted(names)[:8])}." if names else None
