"""What a doctor's turn is to a patient: sentences and turns of our own, in tables beside this file."""

import time
from collections import Counter
from pathlib import Path

import pytest
from tests.tables import each_row

from polyclinic.players.rules.patient import hear, speech_acts

LANGUAGES = ("en", "zh")


def rows(name):
    """Returns the language, what is expected and the text of every row of the tables of that name."""
    for language in LANGUAGES:
        table = Path(__file__).with_name(f"{name}.{language}.txt").read_text(encoding="utf-8")
        for line in table.splitlines():
            if not line.startswith("#"):
                expected, text = line.split(" | ", 1)
                yield language, expected, text.replace(r"\n", "\n")


@each_row(("language", "expected", "text"), list(rows("speech_acts")))
def test_what_a_sentence_does(language, expected, text):
    assert speech_acts(text, language) == [(text, expected)]


@each_row(("language", "expected", "text"), list(rows("turns")))
def test_what_a_turn_does_and_whether_it_names_anything(language, expected, text):
    kind, definite = expected.rsplit(" ", 1)
    heard = hear(text, language)
    assert heard.kind == kind
    if definite != "-":
        assert heard.definite == (definite == "yes")


def test_the_tables_hold_every_act_and_kind_in_both_languages():
    acts = Counter((language, expected) for language, expected, _ in rows("speech_acts"))
    assert len(acts) == 2 * 6
    assert min(acts.values()) >= 4
    kinds = {(language, expected.rsplit(" ", 1)[0]) for language, expected, _ in rows("turns")}
    assert len(kinds) == 2 * 5


def test_the_focus_is_what_asks_or_advises():
    asked = hear("I am sorry to hear that. Do you have a fever? Thank you.", "en")
    assert asked.focus == "Do you have a fever?"
    advised = hear("好的，我明白了。建议您做胸部CT检查。您看可以吗？", "zh")
    assert (advised.focus, advised.examining) == ("建议您做胸部CT检查。", True)
    taken = hear("You can take ibuprofen for the pain.", "en")
    assert (taken.definite, taken.examining) == (True, False)


def test_items_of_a_list_do_what_is_said_before_them():
    acts = speech_acts("Please have the following done:\n1. Blood count\n2. Urinalysis\nThank you.", "en")
    assert [act for _, act in acts] == ["advice", "advice", "advice", "comment"]


def test_marks_that_a_model_ends_with_are_not_heard():
    assert hear("您还有其他不适吗？<eoa>", "zh") == hear("您还有其他不适吗？", "zh")
    assert hear("<eoa>", "zh").definite is False


@each_row("text", ["", " ", "...", "？", "1. 2. 3.", "🙂"])
@each_row("language", LANGUAGES)
def test_what_says_nothing_names_nothing(text, language):
    heard = hear(text, language)
    assert (heard.kind, heard.definite) == ("inquiry", False)


@pytest.mark.slow
@each_row("said", ["if you ", "in the meantime, ", "and so then ", "please ", "1. ", "，", "您可以考虑", "a"])
def test_who_repeats_itself_without_end_is_heard_all_the_same(said):
    begun = time.process_time()
    for language in LANGUAGES:
        hear(said * (20_000 // len(said)), language)
    assert time.process_time() - begun < 5
