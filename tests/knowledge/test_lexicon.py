"""Reading symptoms out of text."""

import pytest

from polyclinic.generation.draw import generate
from polyclinic.knowledge.knowledge import read_knowledge
from polyclinic.knowledge.lexicon import Lexicon


@pytest.fixture(scope="module")
def knowledge():
    return read_knowledge()


@pytest.fixture(scope="module", params=["en", "zh"])
def lexicon(knowledge, request):
    return Lexicon(knowledge.symptoms.values(), request.param)


def test_every_word_is_read_as_its_own_symptom_and_no_other(knowledge, lexicon):
    words = {word.casefold(): s.id for s in knowledge.symptoms.values() for word in s.words(lexicon.language)}
    wrong = {
        written: read
        for word, symptom in words.items()
        for written in (word, word.upper())
        if (read := [s for s, _ in lexicon.mentions(written)]) != [symptom]
    }
    assert not wrong


def test_what_is_read_can_be_changed_and_is_read_anew(lexicon):
    word = next(iter(lexicon.symptoms.values())).words(lexicon.language)[0]
    lexicon.mentions(word).clear()
    assert lexicon.mentions(word)


def test_a_word_that_holds_what_divides_clauses_is_known_as_a_whole(lexicon):
    outside = {
        word: left
        for symptom in lexicon.symptoms.values()
        for word in symptom.words(lexicon.language)
        if (left := lexicon.clauses_outside(word))
    }
    assert not outside


STRANGE = {
    "en": ("A griping belly that comes and goes, webbed toes and being sick after feeds and meals", ["webbed toes"]),
    "zh": ("接触花粉、灰尘或动物诱发，并且脚趾长蹼，发热", ["脚趾长蹼"]),
}


def test_what_is_outside_is_told_by_the_clause(lexicon):
    text, outside = STRANGE[lexicon.language]
    assert lexicon.clauses_outside(text) == outside


@pytest.mark.slow
def test_no_drawn_complaint_is_outside_the_knowledge(knowledge, lexicon):
    drawn = [c.presentation.complaint for c in generate(knowledge, n=300, seed=20_261, language=lexicon.language)]
    assert [text for text in drawn if lexicon.clauses_outside(text)] == []
