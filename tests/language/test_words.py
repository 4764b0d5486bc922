"""Words, overlap and likeness."""

import builtins
import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyclinic.errors import MissingExtra
from polyclinic.language import words as w
from polyclinic.language.language import length

pytestmark = pytest.mark.usefixtures("words")
texts = st.text("abc xyz,.咳嗽发热三天 12", max_size=30)
languages = st.sampled_from(["en", "zh"])


def test_english_by_hand():
    # Of "the cough coughs", "the cough" stands in the text; "coughs" has the stem of "cough", which is used up.
    found = w.rouge_1("The coughing man", "the cough coughs", "en")
    assert found == w.Overlap(precision=2 / 3, recall=2 / 3)
    assert w.english_stems("Use of 3 X-rays, using") == ("use", "of", "3", "x", "ray", "use")


def test_chinese_counts_each_word_once():
    assert w.chinese_words("咳嗽三天") == ("咳嗽", "三天")
    assert w.rouge_1("咳嗽，咳嗽", "咳嗽三天", "zh") == w.Overlap(precision=0.5, recall=0.5)


def test_what_is_not_chinese_is_cut_as_jieba_cuts_it():
    assert w.chinese_words("血糖5.4mmol/L") == ("血糖", "5.4", "mmol", "/", "L")
    assert w.chinese_words("2021.03.31复查") == ("2021.03", ".", "31", "复查")
    assert w.chinese_words("26-year-old") == ("26", "-", "year", "-", "old")


def test_distinct_by_hand():
    # Words a b a b c: bigrams ab, ba, ab, bc, of which three differ.
    assert w.distinct_2(["a, b a", "b. c!"], "en") == pytest.approx(3 / 5)
    assert w.distinct_2(["...", ""], "en") == 0
    assert w.distinct_2(["咳嗽，咳嗽"], "zh") == pytest.approx(1 / 2)


def test_lengths():
    assert length("One two  three") == 4  # as published: words stand between single blanks
    assert length("您好 a") == 4
    assert length("  ") == 0


def test_likeness_by_hand():
    # "abcd" to "abxd": a substitution costs two of eight.
    assert w.likeness("abcd", "abxd", "en") == pytest.approx(0.75)
    assert w.likeness("", "abc", "en") == 0


@given(texts, texts, languages)
def test_shares_are_shares(text, reference, language):
    overlap = w.rouge_1(text, reference, language)
    for value in (
        overlap.precision,
        overlap.recall,
        w.likeness(text, reference, language),
        w.distinct_2([text, reference], language),
    ):
        assert 0 <= value <= 1
    assert overlap.recall == w.rouge_1(reference, text, language).precision
    assert w.likeness(text, reference, language) == pytest.approx(w.likeness(reference, text, language))


@given(texts.filter(lambda t: any(c.isalnum() and c.isascii() for c in t)), languages)
def test_a_text_is_like_itself(text, language):
    assert w.rouge_1(text, text, language) == w.Overlap(1, 1)
    assert w.likeness(text, text, language) == 1


@given(st.text(max_size=40))
def test_cutting_loses_nothing(text):
    assert "".join(w.chinese_words(text)) == text


def test_what_is_missing_is_named(monkeypatch):
    for cached in (w._extra, w._stemmer, w._stem, w.chinese_words, w.english_stems):
        cached.cache_clear()

    def absent(name, package=None):
        raise builtins.ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"rjieba.*pip install 'polyclinic\[evals\]'"):
        w.chinese_words("咳嗽")
    with pytest.raises(MissingExtra, match=r"nltk.*pip install 'polyclinic\[evals\]'"):
        w.english_stems("coughing")
