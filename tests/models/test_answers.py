"""Reading answers: all that is meant, and nothing that is not."""

import json
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import each_row

from polyclinic.errors import CutOff, Refused, UnreadableReply
from polyclinic.models.answers import Completion, read, read_value
from polyclinic.models.schema import form_of
from polyclinic.models.scripted import Scripted

TEXT = st.characters(codec="utf-8")


class Finding(msgspec.Struct):
    name: str
    sure: bool = False
    parts: list[str] = []


class Loose(msgspec.Struct):
    """All fields have defaults: any object would do, if one looked in the wrong place."""

    note: str = ""


def said(text, answer, **more):
    return read(Completion(text, **more), answer, None if answer is None else form_of(answer))


GOOD = '{"name": "cough", "sure": true, "parts": ["dry"]}'
MEANT = Finding("cough", True, ["dry"])


@each_row(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"Here it is: {GOOD} Anything else?",
        f"```json\n{GOOD}\n```",
        f"Sure.\n```\n{GOOD}\n```\nThat is all.",
        f'<think>maybe {{"name": "cold"}}</think>\n{GOOD}',
        f"I thought of {{this}} and [that], then: {GOOD}",
        f"{GOOD}\n\n{GOOD}",
        f"[note] {GOOD}",
    ],
)
def test_one_value_is_found(text):
    assert said(text, Finding) == MEANT


@each_row(
    ("text", "problem"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("a cough", "malformed"),
        (GOOD[:-3], "truncated"),
        (GOOD.replace("true", '"true"'), r"\$\.sure"),
        ('{"sure": true}', "`name`"),
        ('{"name": "cough"} or {"name": "cold"}', "2 different values"),
        ('```\n{"name": "cough"}\n```\n```\n{"name": "cold"}\n```', "2 different values"),
        ("{" * 5000, "malformed"),
        ("[" * 100_000, "Expected `object`, got `array`"),
    ],
)
def test_what_is_not_there_is_not_found(text, problem):
    with pytest.raises(UnreadableReply, match=problem):
        said(text, Finding)


@pytest.mark.parametrize(
    "text",
    [
        '{"note": "yes", "inner": {"note": "no"}, "rest": [',
        '{"note": "he said {} and',
        '{"a": [{"note": "x"}, {"note": "y"}',
    ],
)
def test_a_part_of_a_broken_value_is_not_the_answer(text):
    with pytest.raises(UnreadableReply):
        said(text, Loose)


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="{}[]`"), max_size=60),
    st.text(TEXT, max_size=30),
    st.booleans(),
)
def test_a_value_is_read_back_from_any_prose(prose, name, sure):
    value = Finding(name, sure)
    assert said(f"{prose}\n{msgspec.json.encode(value).decode()}\n{prose}", Finding) == value


@given(st.integers(min_value=0, max_value=len(GOOD) - 1))
def test_a_value_that_breaks_off_is_never_read(length):
    with pytest.raises(UnreadableReply):
        said(GOOD[:length], Finding)


@given(st.text(TEXT, max_size=200))
def test_any_text_is_the_value_or_a_named_failure(text):
    try:
        value = said(text, Finding)
    except UnreadableReply:
        return
    assert json.dumps(value.name, ensure_ascii=False)[1:-1] in text or value.name in text


@each_row("text", ["Yes", " yes ", "YES\n", '{"answer": "yes"}', '"yes"', '```json\n{"answer": "Yes"}\n```'])
def test_an_option_is_itself(text):
    assert said(text, ("yes", "no")) == "yes"


@each_row(
    "text",
    [
        "yes.",
        "yes, I think",
        "A",
        "y",
        "yesno",
        "I know nothing. YES",
        '{"answer": "maybe"}',
        "{}",
        '{"answer": 1}',
        "[]",
        "1",
    ],
)
def test_anything_else_is_no_option(text):
    with pytest.raises(UnreadableReply):
        said(text, ("yes", "no"))


@given(
    st.lists(st.text(TEXT, min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=6, unique_by=str.casefold),
    st.text(TEXT, max_size=20),
)
def test_a_choice_is_an_option_or_nothing(options, text):
    try:
        choice = said(text, tuple(options))
    except UnreadableReply:
        return
    assert choice in options
    said_text = text if not text.strip().startswith(('"', "{", "`", "[")) else choice
    assert " ".join(said_text.split()).casefold() == " ".join(choice.split()).casefold()


def test_options_that_differ_by_case_only_stay_the_first():
    assert said("a", ("A", "a")) == "A"


@each_row(
    ("kind", "text", "value"),
    [
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '{"answer": [1, 2]}', [1, 2]),
        (int, 'The number is {"answer": 3}.', 3),
        (Literal["a", "b"], '"b"', "b"),
        (Finding | None, "null", None),
        (dict[str, int], '{"x": 1}', {"x": 1}),
    ],
)
def test_values_that_are_no_objects(kind, text, value):
    assert said(text, kind) == value


def test_text_is_text():
    assert said("Hello.", None) == "Hello."
    with pytest.raises(UnreadableReply, match="empty"):
        said(" ", None)
    with pytest.raises(CutOff):
        said("Hel", None, finish="length")


@pytest.mark.parametrize("answer", [None, Finding, ("a", "b")], ids=str)
async def test_what_is_no_unicode_text_is_named(answer):
    with pytest.raises(UnreadableReply, match="no Unicode text") as caught:
        await Scripted([f"\ud800 {GOOD}"]).ask("x", answer=answer)
    assert caught.value.text == f"? {GOOD}"


def test_what_was_cut_off_after_its_end_is_whole():
    assert said(GOOD, Finding, finish="length") == MEANT
    with pytest.raises(CutOff):
        said(GOOD[:-2], Finding, finish="length")


def test_a_filter_is_a_refusal():
    with pytest.raises(Refused):
        said(GOOD, Finding, finish="content_filter")
    with pytest.raises(Refused, match="I will not"):
        said(GOOD, Finding, refusal="I will not")


def test_a_long_answer_is_not_searched_for_ever():
    with pytest.raises(UnreadableReply):
        read_value('{"a": {' * 40_000, form_of(Finding))
