"""What an author may want to know of a tool before others use it."""

from __future__ import annotations

from collections.abc import Iterator

from salvor.errors import ArgumentsRefused, ExportRefused, JsonRefused
from salvor.registry.exports import FORMS, to_form
from salvor.tools.function import FunctionTool
from salvor.values import JsonObject, JsonValue


def lint(tool: FunctionTool) -> tuple[str, ...]:
    """What may be meant otherwise, one sentence each.

    Parameters that nobody describes, described ones that are not there, examples that the tool
    itself refuses, and the forms it cannot be exported in.
    """
    return (*_bare(tool), *tool.lint, *_examples(tool), *_exports(tool))


def sample_arguments(tool: FunctionTool) -> tuple[JsonObject, tuple[str, ...]]:
    """Arguments for a trial call, and the required parameters that nothing is known for.

    A parameter's value is the first of its ``examples``, or the only one that its schema allows.
    What may be left out is, unless it has an example.
    """
    properties, required = _properties(tool), _required(tool)
    found = {name: values[0] for name, schema in properties.items() if (values := _known(schema))}
    missing = tuple(name for name in properties if name in required and name not in found)
    return found, missing


def _bare(tool: FunctionTool) -> Iterator[str]:
    for name, schema in _properties(tool).items():
        said = schema.get("description")
        if not isinstance(said, str) or not said.strip():
            yield f"The parameter {name!r} has no description."


def _examples(tool: FunctionTool) -> Iterator[str]:
    arguments, missing = sample_arguments(tool)
    if missing or not arguments:
        return
    try:
        tool.key(tool.prepare(arguments).arguments)
    except (ArgumentsRefused, JsonRefused) as error:
        yield f"The tool refuses the examples of its own parameters: {error.message}"


def _exports(tool: FunctionTool) -> Iterator[str]:
    refusals: dict[tuple[str, ...], list[str]] = {}
    for form in FORMS:
        try:
            to_form(tool, form)
        except ExportRefused as error:
            refusals.setdefault(tuple(map(str, error.problems)), []).append(form)
    for problems, forms in refusals.items():
        yield f"It cannot be exported as {', '.join(forms)}: {'; '.join(problems)}."


def _properties(tool: FunctionTool) -> dict[str, JsonObject]:
    found = tool.input_schema.get("properties")
    return {
        name: schema if isinstance(schema, dict) else {}
        for name, schema in (found.items() if isinstance(found, dict) else ())
    }


def _required(tool: FunctionTool) -> list[JsonValue]:
    found = tool.input_schema.get("required")
    return found if isinstance(found, list) else []


def _known(schema: JsonObject) -> list[JsonValue]:
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        return examples
    return [schema["const"]] if "const" in schema else []
