"""What is made of a type whose values cross into the log; of a model once, whoever names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from salvor.tools.adapter import WRITTEN, adapter_of, json_schema
from salvor.tools.annotations import check_crossing
from salvor.tools.exact import exact_json
from salvor.tools.literals import exact_validator
from salvor.tools.octets import standard_serializer
from salvor.tools.undescribed import may_lack_schema
from salvor.values import JsonObject, JsonValue


class Crossing:
    """How the values of a type are written, told by their classes, and read.

    Args:
        annotation: The type.
        names: What the texts of its annotations may mean, besides what their modules hold.

    Raises:
        ToolDefinitionError: when its values cannot cross.
    """

    __slots__ = ("_schema", "adapter", "dump", "exact", "validator")

    def __init__(self, annotation: Any, names: Mapping[str, Any] | None) -> None:
        check_crossing(annotation, names)
        self.adapter = adapter_of(annotation, names)
        core: Any = self.adapter.core_schema
        serializer = self.adapter.serializer
        self._schema: JsonObject | None = None
        if may_lack_schema(core):
            self._schema = json_schema(self.adapter, "serialization")
            serializer = standard_serializer(core, serializer, WRITTEN)
        self.dump: Callable[..., JsonValue] = serializer.to_python
        self.exact: Callable[[Any], JsonValue] | None = exact_json(core)
        self.validator: Any = exact_validator(core, self.adapter.validator)

    @property
    def schema(self) -> JsonObject:
        """The JSON Schema of what is written; not to be changed."""
        if self._schema is None:
            self._schema = json_schema(self.adapter, "serialization")
        return self._schema


def crossing_of(annotation: Any, names: Mapping[str, Any] | None = None) -> Crossing:
    """What is made of a type, as `Crossing` makes it.

    Raises:
        ToolDefinitionError: when its values cannot cross.
    """
    if names or not isinstance(annotation, type) or not issubclass(annotation, BaseModel):
        return Crossing(annotation, names)
    found = _of_model(annotation)
    if found.adapter.core_schema is not annotation.__dict__.get("__pydantic_core_schema__"):
        return Crossing(annotation, names)  # the model was rebuilt, and may mean something else
    return found


@lru_cache(maxsize=256)
def _of_model(annotation: type[BaseModel]) -> Crossing:
    return Crossing(annotation, None)
