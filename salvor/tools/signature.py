"""Reading a function into the model of its arguments."""

from __future__ import annotations

from typing import Any

from salvor.errors import ToolDefinitionError
from salvor.tools.annotations import signature_of
from salvor.tools.arguments import InputModel, Prepared
from salvor.tools.contract import located_error
from salvor.tools.docstring import documentation_of, read_docstring
from salvor.tools.model import build_model
from salvor.tools.parameters import read_signature

__all__ = ["InputModel", "Prepared", "read_parameters"]


def read_parameters(function: Any, *, skip_first: bool, owner: str) -> InputModel:
    """The model of a function's arguments.

    Args:
        function: The function.
        skip_first: Its first parameter is handed in by whoever calls it.
        owner: What it is called, for messages.

    Raises:
        ToolDefinitionError: naming file, line, function, parameter and what to do.
    """
    try:
        parameters = read_signature(function, signature_of(function), skip_first=skip_first)
        described = read_docstring(documentation_of(function), parameters.all_names).parameters
        return build_model(parameters, described, owner)
    except ToolDefinitionError as error:
        raise located_error(error, function) from None
