"""`salvor tools schema`: one schema of a tool, or its whole definition in a provider's form."""

from __future__ import annotations

import json

import click

from salvor.cli import output
from salvor.cli.load import installed_tools, tool_at
from salvor.cli.render import printable
from salvor.errors import SalvorError
from salvor.registry.exports import FORMS, Form, to_form
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject


class NoSchema(SalvorError):
    """A tool does not say what it gives."""

    code = "no_schema"


@click.command()
@click.argument("tool")
@click.option("--result", is_flag=True, help="The schema of what it gives, not of what it takes.")
@click.option("--form", type=click.Choice(FORMS), help="Its definition as a provider takes it.")
@click.option("--inline", is_flag=True, help="With --form: no $ref is left in it.")
def schema(tool: str, result: bool, form: Form | None, inline: bool) -> int:
    """Print the JSON Schema of what TOOL takes; nothing else goes to standard output."""
    if result and form is not None:
        raise click.UsageError("--result and --form exclude each other.")
    if inline and form is None:
        raise click.UsageError("--inline belongs to --form.")
    registry, _ = installed_tools()
    found, _ = tool_at(registry, tool)
    if form is not None:
        output.say(_json(to_form(found, form, inline=inline).definition))
    else:
        output.say(_json(_result_of(found) if result else found.input_schema))
    return 0


def _result_of(tool: FunctionTool) -> JsonObject:
    if tool.output_schema is None:
        raise NoSchema(
            f"{tool.name} does not say what it gives.", hint="Annotate the function's return type."
        )
    return tool.output_schema


def _json(value: JsonObject) -> str:
    """JSON that a person reads and a program parses: escapes are those of JSON."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if printable(text) == text else json.dumps(value, indent=2)
