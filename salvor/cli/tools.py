"""`salvor tools`: the tools there are, one of them in full, and one call."""

from __future__ import annotations

from typing import Any

import click

from salvor.cli import output
from salvor.cli.driving import drive
from salvor.cli.load import installed_tools, names_code, tool_at, tools_at
from salvor.cli.options import JsonObjectType, RunId, refused_with_next_step, store_option
from salvor.cli.render_tables import tools_table
from salvor.cli.render_tool import tool_page
from salvor.cli.tool_check import check
from salvor.cli.tool_schema import schema
from salvor.clock import SystemIds
from salvor.registry.registry import Registry
from salvor.runtime.outcome import RunResult
from salvor.runtime.runtime import Runtime
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject


@click.group()
def tools() -> None:
    """Tools: what they are called, take, give and do to the world.

    TOOL is the name of an installed tool, or MODULE[:NAME] or file.py[:NAME].
    """


tools.add_command(schema)
tools.add_command(check)


@tools.command("list")
@click.argument("targets", metavar="[TOOL]...", nargs=-1)
def list_tools(targets: tuple[str, ...]) -> int:
    """List the installed tools, or those of the modules named."""
    registry, _ = installed_tools()
    found = (
        [tool for target in targets for tool in _tools_of(registry, target)]
        if targets
        else list(registry.tools())
    )
    if found:
        output.show(tools_table(registry, found))
    else:
        output.say("There are no tools there.")
    return 0


@tools.command()
@click.argument("tool")
def show(tool: str) -> int:
    """Show one tool in full, its schemas included."""
    registry, _ = installed_tools()
    found, _ = tool_at(registry, tool)
    output.say(tool_page(registry, found))
    return 0


@tools.command()
@click.argument("tool")
@click.option(
    "--input", "given", type=JsonObjectType(), default="{}", help="The arguments; by default none."
)
@click.option("--run-id", type=RunId(), help="The run's id; by default a fresh one.")
@store_option
@click.pass_obj
def call(obj: dict[str, str], tool: str, given: JsonObject, run_id: str | None) -> int:
    """Call a tool once, as a run of its own in the store."""
    registry, plugins = installed_tools()
    found, target = tool_at(registry, tool)
    with refused_with_next_step():
        found.prepare(given)  # refused before an id is printed
    chosen = run_id or SystemIds().run_id()

    async def begin(runtime: Runtime) -> RunResult[Any]:
        output.say(f"run {chosen}")
        return await runtime.call_tool(found, given, run_id=chosen, target=target)

    return drive(obj["store"], chosen, begin, loaded=(registry, plugins))


def _tools_of(registry: Registry, target: str) -> list[FunctionTool]:
    return tools_at(registry, target) if names_code(registry, target) else [registry.get(target)]
