"""`salvor new`: the beginnings of a package, complete enough to pass its own tests."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

import click

from salvor.cli import output
from salvor.errors import SalvorError
from salvor.version import __version__

MAX_NAME = 40
SUFFIX = ".tmpl"
PLAIN = {"gitignore": ".gitignore"}

_name = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*").fullmatch
_TAKEN = frozenset({"salvor", "tests", "test"}) | sys.stdlib_module_names


class CannotMake(SalvorError):
    """Something could not be made where it was asked for."""

    code = "cannot_make"


class DistributionName(click.ParamType[str]):
    """The name of a distribution, whose package can be imported."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what cannot be one."""
        if _name(value) is None or len(value) > MAX_NAME:
            self.fail(
                f"a name has to begin with a letter and hold up to {MAX_NAME} small letters and "
                f"digits, in parts joined by '-', got {value!r}.",
                param,
                ctx,
            )
        package = package_of(value)
        if package in _TAKEN or keyword.iskeyword(package):
            self.fail(f"a package cannot be called {package!r}: that name is taken.", param, ctx)
        return value


@click.group()
def new() -> None:
    """Make the beginnings of something of your own."""


@new.command()
@click.argument("name", type=DistributionName())
@click.option(
    "--into",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="The directory it is made in; by default the current one.",
)
def plugin(name: str, into: Path) -> int:
    """Make a package of tools, with its entry point, one tool and tests that pass.

    NAME is that of the distribution, such as acme-ledger. Nothing that exists is changed.
    """
    place = into / name
    made = _make(place, name)
    package = package_of(name)
    output.say(f"made {place}/ with {', '.join(made)}")
    output.say("\nIn that directory:\n")
    for command in (
        "pip install -e '.[test]'",
        "pytest",
        f"salvor tools check {package}.tools",
        f"salvor tools show {package}_count_words",
    ):
        output.say(f"  {command}")
    return 0


def package_of(name: str) -> str:
    """The package that a distribution of that name holds."""
    return re.sub(r"[-.]", "_", name)


def _make(place: Path, name: str) -> list[str]:
    package = package_of(name)
    if not place.exists() and importlib.util.find_spec(package) is not None:
        raise CannotMake(
            f"there is a module {package!r} already, which the package would hide or be hidden by.",
            hint="Choose another name.",
        )
    words = {"name": name, "package": package, "salvor": __version__}
    try:
        place.mkdir()
    except FileExistsError:
        raise CannotMake(
            f"{place} is there already.", hint="Choose another name, or --into another directory."
        ) from None
    except OSError as error:
        raise CannotMake(f"{place} cannot be made: {error.strerror}.") from None
    try:
        return [_write(place, path, source, words) for path, source in _templates(package)]
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise CannotMake(f"{place} cannot be written: {error.strerror}.") from None


def _write(place: Path, path: str, source: Traversable, words: dict[str, str]) -> str:
    target = place / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(Template(source.read_text("utf-8")).substitute(words), "utf-8")
    return path


def _templates(package: str) -> Iterator[tuple[str, Traversable]]:
    """Each file of the package by its path in it, and the template it is made of."""
    for folder in ("", "package", "tests"):
        source = files("salvor.cli") / "templates" / "plugin" / folder
        for one in sorted(source.iterdir(), key=lambda found: found.name):
            if one.name.endswith(SUFFIX):
                plain = one.name.removesuffix(SUFFIX)
                where = package if folder == "package" else folder
                yield "/".join(filter(None, (where, PLAIN.get(plain, plain)))), one
