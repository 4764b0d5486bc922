"""Reading symptoms out of text."""

import pytest

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
