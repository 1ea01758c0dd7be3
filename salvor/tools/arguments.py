"""The argument pipeline: JSON as it came, repaired, checked, and as Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from pydantic import BaseModel
from pydantic_core import ValidationError

from salvor.errors import ArgumentsRefused, JsonRefused, Problem
from salvor.tools.at_once import flat_object, parsed_at_once
from salvor.tools.check import SchemaCheck
from salvor.tools.plain import LeftOut, to_json
from salvor.values import (
    MAX_ARGUMENT_BYTES,
    JsonObject,
    JsonValue,
    as_json,
    canonical_json,
    parse_object,
)

ROUNDS = 2
_NO_VALUES: Mapping[str, Any] = {}


class Prepared(NamedTuple):
    """Arguments that fit.

    Attributes:
        arguments: The canonical form: what was passed, after repair, without defaults.
        values: By parameter name, what was passed as Python values, and the defaults that
            stand in a `Field(...)`, which the function cannot supply itself.
    """

    arguments: JsonObject
    values: dict[str, Any]

    @property
    def text(self) -> str:
        """The canonical text of `arguments`."""
        return canonical_json(self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Argument:
    """How one parameter appears in the JSON and in the model.

    Attributes:
        name: The parameter.
        wire: Its key in the JSON.
        field: Its field in the model.
        annotation: Its type.
        always: Its value is handed over even when it was not passed.
    """

    name: str
    wire: str
    field: str
    annotation: Any
    always: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InputModel:
    """The parameters of one function, as one JSON object.

    Attributes:
        owner: What the function is called, for messages.
        model: The pydantic model of the object.
        schema: Its published JSON Schema.
        parameters: The arguments, in the function's order.
        positional: The parameters that a direct call may pass by position.
        positional_only: The function's positional-only parameters, with their defaults.
        omissible: Keys that may be left out and whose type has no ``null``.
        validate: What makes a model of the JSON text.
        carried: Of each parameter its name, its field, and whether it is always handed over.
        named_alike: Every field is named as its parameter.
        flat: No arguments that fit hold an object, or a number that is no integer.
    """

    owner: str
    model: type[BaseModel]
    schema: JsonObject
    check: SchemaCheck
    parameters: tuple[Argument, ...]
    positional: tuple[str, ...]
    positional_only: tuple[tuple[str, Any], ...]
    omissible: frozenset[str]
    validate: Callable[..., BaseModel]
    carried: tuple[tuple[str, str, bool], ...]
    named_alike: bool
    flat: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The keys the JSON object may have."""
        return tuple(parameter.wire for parameter in self.parameters)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> JsonObject:
        """The JSON arguments of a direct call with Python values.

        Raises:
            JsonRefused: a value has no JSON form.
            ArgumentsRefused: too many positional arguments, or one given twice.
        """
        if len(args) > len(self.positional):
            most = len(self.positional)
            self._refuse(self.owner, "", f"at most {most} positional arguments", str(len(args)))
        passed = dict(zip(self.positional, args, strict=False))
        for name, value in kwargs.items():
            if name in passed:
                self._refuse(self.owner, f"/{name}", "one value", "two, by position and by name")
            passed[name] = value
        known = {parameter.name: parameter for parameter in self.parameters}
        return {
            known[name].wire if name in known else name: self._json(name, value, known.get(name))
            for name, value in passed.items()
        }

    def prepare(self, raw: JsonObject, *, tool: str | None = None) -> Prepared:
        """Validate, repair and check arguments.

        Args:
            raw: The JSON object that came; it is left as it is.
            tool: The name to report, instead of the owner's.

        Raises:
            ArgumentsRefused: with all problems.
            JsonRefused: what came is not strict JSON.
        """
        return self._prepared(raw, self._text(raw, tool), tool)

    def prepare_text(self, text: str | bytes, *, tool: str | None = None) -> Prepared:
        """Parse strictly, validate, repair and check arguments that came as JSON text.

        The same as `parse_object` and `prepare`, sooner.

        Args:
            text: What came.
            tool: The name to report, instead of the owner's.

        Raises:
            ArgumentsRefused: with all problems.
            JsonRefused: what came is no strict JSON object.
        """
        if self.flat and (raw := flat_object(text)) is not None:
            try:
                model = self.validate(text, strict=True)
                if self.check.is_valid(raw):
                    return Prepared(raw, self._values(model))
            except Exception:  # whatever it is: the careful way says it, or repairs it
                pass
        found = parsed_at_once(text)
        if found is None:
            return self.prepare(parse_object(text, what="the arguments"), tool=tool)
        return self._prepared(*found, tool)

    def _prepared(self, raw: JsonObject, text: str, tool: str | None) -> Prepared:
        try:
            found = self.validate(text, strict=True)
        except ValidationError as error:
            return self._repaired(raw, text, error, tool)
        except Exception as error:  # a check of the author's own model may raise anything
            self._broken(error, tool)
        if not self.check.is_valid(raw):
            raise self._refusal(raw, (), tool)
        return Prepared(arguments=raw, values=self._values(found))

    def arguments(
        self, values: Mapping[str, Any], injected: Mapping[str, Any] = _NO_VALUES
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """How to call the function with prepared values."""
        named = {**values, **injected}
        if not self.positional_only:
            return (), named
        given = [name in named for name, _ in self.positional_only]
        last = len(given) - given[::-1].index(True) if any(given) else 0
        args = tuple(named.pop(name, default) for name, default in self.positional_only[:last])
        return args, named

    def _text(self, raw: JsonObject, tool: str | None) -> str:
        try:
            text = canonical_json(raw)
            size = len(text) if text.isascii() else len(text.encode())
        except (ValueError, TypeError, RecursionError) as error:
            as_json(raw, what="the arguments")
            raise JsonRefused(f"the arguments cannot be written as JSON: {error}.") from None
        if size > MAX_ARGUMENT_BYTES:
            limit = f"at most {MAX_ARGUMENT_BYTES:,} bytes of JSON"
            self._refuse(tool or self.owner, "", limit, f"{size:,} bytes")
        return text

    def _values(self, found: BaseModel) -> dict[str, Any]:
        values, given = found.__dict__, found.__pydantic_fields_set__
        if self.named_alike and len(given) == len(values):
            return values
        return {
            name: values[field] for name, field, always in self.carried if always or field in given
        }

    def _repaired(
        self, raw: JsonObject, text: str, error: ValidationError, tool: str | None
    ) -> Prepared:
        # What only a refusal needs is loaded by it.
        from salvor.tools.problems import faults_of, problems_of
        from salvor.tools.repair import refused_when_lax, repaired

        fits = self.check.is_valid(raw)
        for _ in range(ROUNDS):
            faults = faults_of(error, raw, self.names)
            lax = refused_when_lax(self.validate, text, raw)
            # Where the schema takes what came, 5.0 is what is meant by 5, and texts are texts.
            numbers = [fault for fault in faults if fits and not isinstance(fault.value, str)]
            found = repaired(raw, numbers or faults, lax, self.omissible)
            if found is None:
                break
            raw, text = found, self._text(found, tool)
            try:
                model = self.validate(text, strict=True)
            except ValidationError as again:
                error = again
                continue
            except Exception as broken:  # a check of the author's own model may raise anything
                self._broken(broken, tool)
            if not self.check.is_valid(raw):
                raise self._refusal(raw, (), tool)
            return Prepared(arguments=raw, values=self._values(model))
        raise self._refusal(raw, problems_of(error, raw, self.names), tool)

    def _json(self, name: str, value: Any, parameter: Argument | None) -> JsonValue:
        try:
            return to_json(value, what=f"{self.owner}: argument {name!r}")
        except LeftOut:
            raise
        except JsonRefused:
            if parameter is None:
                self._refuse(self.owner, f"/{name}", "no argument of that name", "a Python value")
            by_type = _by_type(parameter.annotation, value)
            if by_type is None:
                raise
            return by_type

    def _broken(self, error: Exception, tool: str | None) -> NoReturn:
        expected = "values that the checks of its models can judge"
        self._refuse(tool or self.owner, "", expected, f"{type(error).__name__}: {error}")

    def _refusal(
        self, raw: JsonObject, problems: tuple[Problem, ...], tool: str | None
    ) -> ArgumentsRefused:
        places = [problem.pointer for problem in problems]
        further = [
            problem for problem in self.check.problems(raw) if not _covered(problem.pointer, places)
        ]
        ordered = sorted([*problems, *further], key=lambda problem: problem.pointer)
        return ArgumentsRefused(tool=tool or self.owner, problems=ordered)

    def _refuse(self, tool: str, place: str, expected: str, came: str) -> NoReturn:
        problem = Problem(pointer=place, expected=expected, got=came)
        raise ArgumentsRefused(tool=tool, problems=(problem,))


def _covered(place: str, places: list[str]) -> bool:
    return any(
        place == other or place.startswith(f"{other}/") or other.startswith(f"{place}/")
        for other in places
    )


def _by_type(annotation: Any, value: Any) -> JsonValue:
    # A type with a serialiser of its own may make JSON of what nothing else can.
    from salvor.tools.adapter import adapter_of

    try:
        found = adapter_of(annotation).dump_python(value, mode="json", warnings="error")
        return as_json(found)
    except Exception:  # a serialiser may raise anything; the first refusal is the clear one
        return None
