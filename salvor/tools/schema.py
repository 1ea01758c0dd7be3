"""Values of one type, as they cross into the log and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from inspect import Signature
from typing import Any, get_args, get_origin

from pydantic_core import PydanticSerializationError, ValidationError

from salvor.errors import JsonRefused, OutputRefused, Problem, ToolDefinitionError
from salvor.tools.contract import place_of
from salvor.tools.plain import not_finite, to_json
from salvor.values import MAX_OUTPUT_BYTES, JsonObject, JsonValue, as_json, canonical_json


class ValueType:
    """One type, as it crosses into the log and back.

    Args:
        annotation: The type; `inspect.Signature.empty` and `Any` mean plain JSON.
        where: What the value is, for messages.
        names: What the texts of its annotations may mean, besides what their modules hold.

    Raises:
        ToolDefinitionError: when its values cannot cross.
    """

    __slots__ = ("_crossing", "_dump", "_exact", "_schema", "_validator", "where")

    def __init__(
        self, annotation: Any, *, where: str, names: Mapping[str, Any] | None = None
    ) -> None:
        self.where = where
        self._schema: JsonObject | None = None
        self._crossing: Any = None
        self._dump: Callable[..., JsonValue] | None = None
        self._exact: Callable[[Any], JsonValue] | None = None
        self._validator: Any = None
        if annotation is not Any:
            from salvor.tools.crossing import crossing_of  # which only a first tool needs

            self._crossing = found = crossing_of(annotation, names)
            self._dump, self._exact, self._validator = found.dump, found.exact, found.validator

    @classmethod
    def of_return(
        cls, function: Any, *, where: str | None = None, signature: Signature | None = None
    ) -> ValueType:
        """The type a function declares to return; plain JSON when it declares none."""
        from salvor.tools.annotations import local_names, resolve, signature_of

        annotation = (signature or signature_of(function)).return_annotation
        named = where or str(getattr(function, "__name__", "the function"))
        if annotation is Signature.empty:
            return cls(Any, where=named)
        try:
            found = _awaited(resolve(annotation, function))
            return cls(found, where=named, names=local_names(function))
        except ToolDefinitionError as error:
            raise ToolDefinitionError(
                f"its return type: {error.reason}", where=place_of(function), hint=error.hint
            ) from None

    @property
    def typed(self) -> bool:
        """Whether there is a type to check against."""
        return self._crossing is not None

    @property
    def schema(self) -> JsonObject | None:
        """The JSON Schema of the values that `encode` makes; `None` for plain JSON."""
        if self._schema is None and self._crossing is not None:
            self._schema = deepcopy(self._crossing.schema)
        return self._schema

    def encode(self, value: Any) -> JsonValue:
        """Turn a Python value into JSON that `decode` accepts.

        Raises:
            OutputRefused: when it is not of the type, not strict JSON, or above 8 MiB.
        """
        return self.write(value)[0]

    def write(self, value: Any) -> tuple[JsonValue, str]:
        """`encode`, and the canonical text of what it gives, which it makes anyway.

        Raises:
            OutputRefused: as `encode`.
        """
        if self._exact is not None:
            try:
                found = self._exact(value)
                text = canonical_json(found)
                if len(text) * 4 <= MAX_OUTPUT_BYTES and (text.isascii() or text.encode()):
                    return found, text
            except Exception:  # whatever it is: the careful way takes it, or says it
                pass
        return self._written(value)

    def _written(self, value: Any) -> tuple[JsonValue, str]:
        try:
            if self._dump is None:
                found = to_json(value, what="the result", whole=True)
                return found, self._checked_text(found)
            plain = self._dump(value, mode="json", by_alias=True, warnings="error")
            text = self._checked_text(plain)
            if "null" in text:
                self._check_finite(value)
        except JsonRefused as error:
            raise self._refused("", "strict JSON", error.message) from None
        except PydanticSerializationError as error:
            raise self._unlike(value, error) from None
        except OverflowError as error:  # pydantic makes a float of an integer that is none
            raise self._refused("", "strict JSON", f"a number too large ({error})") from None
        self._validated(text, plain)
        return plain, text

    def decode(self, value: JsonValue) -> Any:
        """The typed value of recorded JSON.

        Raises:
            OutputRefused: when the type does not accept it.
        """
        if self._crossing is None:
            return value
        return self._validated(canonical_json(value), value)

    def _check_finite(self, value: Any) -> None:
        # A model turns a number that is no JSON into null, without a word.
        place = not_finite(value)
        if place is not None:
            raise self._refused(place, "a JSON number", "a number that is not finite")

    def _validated(self, text: str, plain: JsonValue) -> Any:
        try:
            return self._validator.validate_json(text, strict=True)
        except ValidationError as error:
            from salvor.tools.problems import problems_of  # which only a refusal needs

            problems = problems_of(error, plain)
            raise OutputRefused(tool=self.where, problems=problems) from None

    def _checked_text(self, value: JsonValue) -> str:
        try:
            text = canonical_json(value)
            size = len(text.encode()) if len(text) * 4 > MAX_OUTPUT_BYTES else len(text)
            text.isascii() or text.encode()
        except (ValueError, TypeError, RecursionError) as error:
            as_json(value, what="the result")
            raise JsonRefused(f"the result cannot be written as JSON: {error}.") from None
        if size > MAX_OUTPUT_BYTES:
            raise self._refused(
                "", f"at most {MAX_OUTPUT_BYTES:,} bytes of JSON", f"{size:,} bytes"
            )
        return text

    def _unlike(self, value: Any, error: Exception) -> OutputRefused:
        from salvor.tools.unlike import unlike  # which only a refusal needs

        assert self._dump is not None
        problems = unlike(value, self._dump, self._validator.validate_json, error)
        return OutputRefused(tool=self.where, problems=problems)

    def _refused(self, place: str, expected: str, came: str) -> OutputRefused:
        problem = Problem(pointer=place, expected=expected, got=came)
        return OutputRefused(tool=self.where, problems=(problem,))


def _awaited(annotation: Any) -> Any:
    origin = get_origin(annotation)
    if getattr(origin, "__name__", None) in ("Awaitable", "Coroutine"):
        return get_args(annotation)[-1]
    return annotation
