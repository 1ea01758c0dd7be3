"""The generator of schemas: what it keeps between types is what pydantic would find anew."""

from __future__ import annotations

from pydantic.json_schema import GenerateJsonSchema

from salvor.tools.generator import SchemaGenerator


def test_every_kind_of_type_is_described_by_the_method_that_pydantic_finds() -> None:
    generator, later = SchemaGenerator(), SchemaGenerator()

    for one in (generator, later):
        assert one.build_schema_type_to_method() == GenerateJsonSchema.build_schema_type_to_method(
            one
        )


def test_a_generator_describes_by_methods_of_its_own() -> None:
    found = SchemaGenerator().build_schema_type_to_method()

    assert found["datetime"].__func__ is SchemaGenerator.datetime_schema
