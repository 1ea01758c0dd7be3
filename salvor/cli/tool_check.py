"""`salvor tools check`: what is wrong with tools, before anybody relies on them."""

from __future__ import annotations

from collections.abc import Iterator

import click

from salvor.cli import output
from salvor.cli.checking import Asked, asked_for
from salvor.cli.options import JsonObjectType
from salvor.cli.render_tables import findings_table
from salvor.cli.watching import Watched, call_watched
from salvor.errors import ArgumentsRefused
from salvor.plugins.inspection import Finding
from salvor.registry.lint import lint, sample_arguments
from salvor.testing.touches import Touch
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, canonical_json

BROKEN = 1


@click.command()
@click.argument("target", metavar="TOOL")
@click.option(
    "--arguments", "given", type=JsonObjectType(), help="What a read tool is called with."
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds after which the call is killed.",
)
def check(target: str, given: JsonObject | None, seconds: float) -> int:
    """Build every tool that TOOL names, look at what it publishes, and try those that read.

    A tool that declares "read" is called once, in a process of its own that is watched: with
    --arguments, or with the examples of its parameters. What it touched is shown. The exit code
    is 1 when a tool cannot be built, when the call failed, or when a "read" tool wrote.
    """
    asked = asked_for(target)
    if given is not None:
        _check_given(asked)
    findings = [
        *(Finding(level="error", subject=name, message=str(error)) for name, error in asked.faults),
        *(finding for tool in asked.tools for finding in _about(tool, target, given, seconds)),
    ]
    output.show(findings_table(findings))
    return BROKEN if any(finding.level == "error" for finding in findings) else 0


def _check_given(asked: Asked) -> None:
    if len(asked.tools) + len(asked.faults) != 1:
        raise click.UsageError("--arguments belongs to one tool: name it with :NAME.")
    for tool in asked.tools:
        if tool.effect != "read":
            raise click.UsageError(
                f"--arguments is for a tool that is called, and only those that declare 'read' "
                f"are: {tool.name} declares {tool.effect!r}."
            )


def _about(
    tool: FunctionTool, target: str, given: JsonObject | None, seconds: float
) -> Iterator[Finding]:
    for said in lint(tool):
        yield Finding(level="warning", subject=tool.name, message=said)
    if tool.effect != "read":
        message = f"built; it declares {tool.effect!r}, so it was not called"
        yield Finding(level="ok", subject=tool.name, message=message)
        return
    arguments, missing = sample_arguments(tool) if given is None else (given, ())
    if missing:
        yield Finding(level="warning", subject=tool.name, message=_uncalled(missing))
        return
    try:
        tool.prepare(arguments)  # refused before a process is started
    except ArgumentsRefused:
        if given is not None:
            raise
        return  # lint has said what is wrong with the examples
    watched = call_watched(target, tool.name, arguments, seconds=seconds)
    yield from _trial(tool, arguments, watched)


def _uncalled(missing: tuple[str, ...]) -> str:
    named = ", ".join(missing)
    return (
        f"built, and not called: nothing is known to call it with ({named}). "
        "Give --arguments, or the parameters examples: Field(examples=[...])."
    )


def _trial(tool: FunctionTool, arguments: JsonObject, watched: Watched) -> Iterator[Finding]:
    called = f"called with {_shown(arguments)}"
    if watched.failure is not None:
        message = f"{called}, it failed: {watched.failure}"
        yield Finding(level="error", subject=tool.name, message=message)
    else:
        nothing = "" if watched.touches else ": it touched nothing outside"
        yield Finding(level="ok", subject=tool.name, message=f"built and {called}{nothing}")
    told: set[tuple[str, str, bool]] = set()
    for touch, changed in watched.touches:
        if (touch.did, touch.what, changed) not in told:
            told.add((touch.did, touch.what, changed))
            yield _touched(tool, touch, changed)


def _touched(tool: FunctionTool, touch: Touch, changed: bool) -> Finding:
    did = f"it {touch.did} {touch.what}"
    if changed:
        message = f"it declares 'read', and wrote: {did}"
        return Finding(level="error", subject=tool.name, message=message)
    if touch.kind == "process":
        message = f"{did}; what that did is not seen"
        return Finding(level="warning", subject=tool.name, message=message)
    left = (
        "; what the other side did is not seen"
        if touch.kind == "socket"
        else ", and left nothing changed"
    )
    return Finding(level="ok", subject=tool.name, message=did + left)


def _shown(arguments: JsonObject) -> str:
    text = canonical_json(arguments)
    return text if len(text) <= 80 else f"{text[:77]}..."
