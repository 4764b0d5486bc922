"""JSON Schema from types: closed, required, inlined; and what the fake endpoint makes of it."""

import random
from typing import Annotated, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta
from tests.tables import each_row

from polyclinic.models.schema import form_of, form_of_schema
from polyclinic.testing.instances import instance


class Drug(msgspec.Struct):
    """Not for models: a note to programmers."""

    name: Annotated[str, Meta(description="as on the box", max_length=30)]
    milligrams: Annotated[int, Meta(ge=1, le=2000)] = 500


class Ask(msgspec.Struct, tag="ask"):
    question: str


class Treat(msgspec.Struct, tag="treat"):
    drugs: Annotated[list[Drug], Meta(min_length=1, max_length=3)]
    title: Drug | None = None
    properties: bool = False


class Tree(msgspec.Struct):
    name: str
    parts: list["Tree"] = []


class Open(msgspec.Struct):
    scores: dict[str, int]


KINDS = [Drug, Ask | Treat, Treat, list[Drug], ("yes", "no"), Literal["a", "b"], int, bool, Open, Tree, tuple[int, str]]


def objects(node):
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for part in node.values():
            yield from objects(part)
    elif isinstance(node, list):
        for part in node:
            yield from objects(part)


@each_row("kind", KINDS)
def test_objects_are_closed_and_the_root_is_one(kind):
    form = form_of(kind)
    jsonschema.Draft202012Validator.check_schema(form.schema)
    assert form.schema["type"] == "object"
    for node in objects(form.schema):
        if "properties" in node:
            assert node["additionalProperties"] is False
            assert sorted(node["required"]) == sorted(node["properties"])
    assert ("$ref" in form.text) is (kind is Tree)
    assert form.strict is (kind is not Open)


def test_words_for_programmers_are_left_out_and_those_for_models_stay():
    text = form_of(Treat).text
    assert "note to programmers" not in text
    assert "as on the box" in text


def test_fields_may_have_the_names_of_keywords():
    properties = form_of(Treat).schema["properties"]
    assert set(properties) == {"type", "drugs", "title", "properties"}
    assert properties["properties"] == {"type": "boolean"}


def test_no_options_and_unknown_types_are_the_programmers_fault():
    with pytest.raises(TypeError, match="at least one option"):
        form_of(())
    with pytest.raises(TypeError):
        form_of(random.Random)


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not Tree], ids=str)
@given(seed=st.integers(0, 10_000))
def test_what_the_fake_endpoint_makes_is_allowed(kind, seed):
    form = form_of(kind)
    value = instance(form.schema, random.Random(seed))
    jsonschema.validate(value, form.schema)
    decoded = form.decoder.decode(msgspec.json.encode(value))
    assert instance(form.schema, random.Random(seed)) == value
    assert not form.wrapped or not isinstance(kind, tuple) or decoded.answer in kind


def test_a_schema_that_somebody_else_made():
    form = form_of_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    assert not form.strict
    assert form.decoder.decode('{"a": "x"}') == {"a": "x"}
